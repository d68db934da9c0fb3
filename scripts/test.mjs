// `npm test`: makes a fresh clone ready, then runs vitest with the arguments given: `npm test -- test/unit/phone.test.ts -t plus`.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './system-packages.mjs'

prepareBuild()
prepareRedis()
const reporters = ['--reporter=default', `--reporter=${join(root, 'scripts/summary-reporter.mjs')}`]
const words = process.argv.slice(2)
const project = words.includes('--project') ? [] : ['--project', 'tests']
const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', ...project, ...reporters, ...words]
const vitest = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
// Ctrl-C in a terminal reaches vitest by itself; a signal sent to npm alone does not.
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => vitest.kill(signal))
vitest.on('exit', (code) => process.exit(code ?? 1))
