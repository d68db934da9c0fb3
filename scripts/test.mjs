// `npm test`: the same set-up as `npm start`, then every test. Further arguments go to vitest:
// `npm test -- test/unit/phone.test.ts -t plus`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './redis-binary.mjs'

prepareBuild()
prepareRedis()
const vitest = spawn(
  process.execPath,
  [
    join(root, 'node_modules/vitest/vitest.mjs'),
    'run',
    '--reporter=default',
    `--reporter=${join(root, 'scripts/closing-line.mjs')}`,
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: 'inherit' },
)
// Ctrl-C in a terminal reaches vitest by itself; a signal sent to npm alone does not.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => vitest.kill(signal))
vitest.on('exit', (code) => process.exit(code ?? 1))
