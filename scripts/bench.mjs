// `npm run bench`: the same set-up as `npm start`, then Laneway against what people would otherwise run.
//
// Everything runs from a folder of its own: a copy of dist/, so that whoever builds meanwhile changes nothing of what is
// being measured, and the bench compiled beside it.
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

const place = mkdtempSync(join(tmpdir(), 'laneway-bench-build-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
cpSync(join(root, 'dist'), join(place, 'dist'), { recursive: true })
cpSync(join(root, 'package.json'), join(place, 'package.json'))
symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))

if (!compileAside('bench', join(place, 'compiled'))) giveUp('The bench does not compile, see above.')
await import(pathToFileURL(join(place, 'compiled/bench/main.js')).href)
