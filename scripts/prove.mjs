// `npm run prove`: the same set-up as `npm start`, then real processes against a ledger while they are being killed.
//
// Everything runs from a folder of its own: a copy of dist/ (so that whoever builds meanwhile changes nothing of what is
// being proven), the proof compiled beside it, data, logs. It is removed at the end unless something was found.
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileAside } from './compile-aside.mjs'
import { prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './redis-binary.mjs'
import { giveUp } from './say.mjs'

prepareBuild()
prepareRedis()

const place = mkdtempSync(join(tmpdir(), 'laneway-prove-'))
cpSync(join(root, 'dist'), join(place, 'dist'), { recursive: true })
cpSync(join(root, 'package.json'), join(place, 'package.json'))
symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))

if (!compileAside('prove', join(place, 'proof'))) {
  rmSync(place, { recursive: true, force: true })
  giveUp('The proof does not compile, see above.')
}
await import(pathToFileURL(join(place, 'proof/prove/main.js')).href)
