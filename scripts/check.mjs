// `npm run check`: types, lint and format. All run even if one fails, so that one run shows everything.
// `npm run check -- --staged` lints only what is staged for a commit.
//
// They run side by side, and the compiler keeps what it knows of unchanged files in node_modules/.cache: a second run
// takes a few seconds. That file is only ever a saving of time: without it, or with a broken one, everything is checked.
// Each compiler checks on one thread: further ones work out the same types again, four of them with twice the CPU time
// of one, and the other checks fill the other cores.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { cacheFolder, prepareDependencies, root, typed } from './prepare.mjs'

const isStaged = typed({ staged: { type: 'boolean' } }).staged
// Types depend on each other, so they are always checked as a whole.
const scope = isStaged ? ['--staged', '--no-errors-on-unmatched'] : ['.']
const typesOf = (project, cache) => [
  ...['node_modules/typescript-compiler/bin/tsc', '-p', project, '--noEmit', '--checkers', '1'],
  ...['--incremental', '--tsBuildInfoFile', join(cacheFolder, cache)],
]
const CHECKS = {
  types: typesOf('test', 'check.tsbuildinfo'),
  "types of the console's page": typesOf('packages/console', 'check-console.tsbuildinfo'),
  'lint and format': ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', ...scope],
}

prepareDependencies()
const ended = await Promise.all(Object.entries(CHECKS).map(run))
const failed = ended.filter(({ passed }) => !passed).map(({ name }) => name)
console.log(failed.length === 0 ? 'check passed: types, lint, format' : `check failed: ${failed.join('; ')}`)
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
