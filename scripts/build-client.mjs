// Compiles packages/client to its dist/, anew, so that nothing of an earlier build is packed. Run by `npm pack` there.
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { prepareDependencies, root } from './prepare.mjs'

prepareDependencies()
const project = join(root, 'packages/client')
rmSync(join(project, 'dist'), { recursive: true, force: true })
const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript-compiler/bin/tsc'), '-p', project], {
  stdio: ['ignore', process.stderr, process.stderr],
})
process.exit(tsc.status ?? 1)
