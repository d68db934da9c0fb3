import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './redis-binary.mjs'

/** Makes a fresh clone ready, runs vitest with these arguments, and ends the process as vitest ends. */
export function runTests(words) {
  prepareBuild()
  prepareRedis()
  const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts/closing-line.mjs')}`]
  const vitest = spawn(
    process.execPath,
    [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...reporters, ...words],
    {
      cwd: root,
      stdio: 'inherit',
    },
  )
  // Ctrl-C in a terminal reaches vitest by itself; a signal sent to npm alone does not.
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => vitest.kill(signal))
  vitest.on('exit', (code) => process.exit(code ?? 1))
}
