// `npm run check`: types, lint and format, docstrings. All run even if one fails, so that one run shows everything.
// `npm run check -- --staged` lints only what is staged for a commit.
//
// They run side by side, and the compiler keeps what it knows of unchanged files in node_modules/.cache: a second run
// takes a few seconds. That file is only ever a saving of time: without it, or with a broken one, everything is checked.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { cacheFolder, prepareDependencies, root } from './prepare.mjs'

// Types depend on each other, so they are always checked as a whole.
const scope = process.argv[2] === '--staged' ? ['--staged', '--no-errors-on-unmatched'] : ['.']
const tsc = ['node_modules/typescript-compiler/bin/tsc', '-p', 'tsconfig.test.json', '--noEmit', '--incremental']
const page = ['node_modules/typescript-compiler/bin/tsc', '-p', 'src/console', '--incremental']
const CHECKS = {
  types: [...tsc, '--tsBuildInfoFile', join(cacheFolder, 'check.tsbuildinfo')],
  "types of the console's page": [...page, '--tsBuildInfoFile', join(cacheFolder, 'check-console.tsbuildinfo')],
  'lint and format': ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...scope],
  docstrings: ['scripts/docstrings.mjs'],
}

prepareDependencies()
const ended = await Promise.all(Object.entries(CHECKS).map(run))
const failed = ended.filter(({ passed }) => !passed).map(({ name }) => name)
console.log(
  failed.length === 0 ? 'check passed: types, lint, format, docstrings' : `check failed: ${failed.join('; ')}`,
)
process.exitCode = failed.length === 0 ? 0 : 1

/** Runs one check; its output is printed in one piece, when it has ended. */
async function run([name, [script, ...args]]) {
  const child = spawn(process.execPath, [join(root, script), ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => output.push(chunk))
  const passed = await new Promise((resolve) => child.on('close', (code) => resolve(code === 0)))
  process.stdout.write(Buffer.concat(output))
  return { name, passed }
}
