// Compiles src/ to dist/ and puts Lua scripts and demo files beside the compiled files that load them. Built aside and
// put in place by rename, so that nobody who starts a part meanwhile finds half a dist/, and a failed build leaves the
// old one.
import { spawnSync } from 'node:child_process'
import { cpSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BUILD_STAMP, fingerprintOfSources, prepareDependencies, root } from './prepare.mjs'

prepareDependencies()
const draft = join(root, `dist.${process.pid}`)
const old = `${draft}.old`
// Taken before the compiler reads: a file saved while it runs makes the next start build again.
const fingerprint = fingerprintOfSources()
const tsc = spawnSync(
  process.execPath,
  [join(root, 'node_modules/typescript/bin/tsc'), '-p', root, '--outDir', draft],
  {
    stdio: 'inherit',
  },
)
if (tsc.status !== 0) {
  rmSync(draft, { recursive: true, force: true })
  process.exit(tsc.status ?? 1)
}
for (const folder of ['store/scripts', 'start/demo-files']) {
  cpSync(join(root, 'src', folder), join(draft, folder), { recursive: true })
}
writeFileSync(join(draft, BUILD_STAMP), fingerprint)
moveAway(join(root, 'dist'), old)
renameSync(draft, join(root, 'dist'))
rmSync(old, { recursive: true, force: true })

function moveAway(path, to) {
  try {
    renameSync(path, to)
  } catch (error) {
    if (error.code !== 'ENOENT') throw error
  }
}
