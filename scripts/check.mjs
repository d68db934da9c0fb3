// `npm run check`: types, lint and format, docstrings. All run even if one fails, so that one run shows everything.
// `npm run check -- --staged` lints only what is staged for a commit.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { prepareDependencies, root } from './prepare.mjs'

// Types depend on each other, so they are always checked as a whole.
const scope = process.argv[2] === '--staged' ? ['--staged', '--no-errors-on-unmatched'] : ['.']
const CHECKS = {
  types: ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.test.json', '--noEmit'],
  'lint and format': ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...scope],
  docstrings: ['scripts/docstrings.mjs'],
}

prepareDependencies()
const failed = Object.entries(CHECKS)
  .filter(([, [script, ...args]]) => {
    const run = spawnSync(process.execPath, [join(root, script), ...args], { cwd: root, stdio: 'inherit' })
    return run.status !== 0
  })
  .map(([name]) => name)
console.log(
  failed.length === 0 ? 'check passed: types, lint, format, docstrings' : `check failed: ${failed.join('; ')}`,
)
process.exit(failed.length === 0 ? 0 : 1)
