// `npm run prove`: the same set-up as `npm start`, then real processes against a ledger while they are being killed.
//
// Everything runs from a folder of its own: a copy of dist/ (so that whoever builds meanwhile changes nothing of what is
// being proven), the proof compiled beside it, data, logs. It is removed at the end unless something was found.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { copyUncompiled } from './copy-uncompiled.mjs'
import { prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './redis-binary.mjs'
import { giveUp } from './say.mjs'

prepareBuild()
prepareRedis()

const place = mkdtempSync(join(tmpdir(), 'laneway-prove-'))
cpSync(join(root, 'dist'), join(place, 'dist'), { recursive: true })
cpSync(join(root, 'package.json'), join(place, 'package.json'))
symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))

const tsc = join(root, 'node_modules/typescript/bin/tsc')
const compiled = spawnSync(
  process.execPath,
  [tsc, '-p', join(root, 'tsconfig.prove.json'), '--outDir', join(place, 'proof')],
  { stdio: ['ignore', process.stderr, process.stderr] },
)
if (compiled.status !== 0) {
  rmSync(place, { recursive: true, force: true })
  giveUp('The proof does not compile, see above.')
}
// The proof seeds accounts through the store, whose scripts are looked for beside the compiled files.
copyUncompiled(join(root, 'src'), join(place, 'proof/src'))
await import(pathToFileURL(join(place, 'proof/prove/main.js')).href)
