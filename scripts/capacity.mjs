// `npm run capacity`: what an installation needs, from the bench's own figures. See docs/how-it-works/scale.md.
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileAside } from './compile-aside.mjs'
import { prepareDependencies, root } from './prepare.mjs'
import { giveUp } from './say.mjs'

prepareDependencies()
const place = mkdtempSync(join(tmpdir(), 'laneway-capacity-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
writeFileSync(join(place, 'package.json'), '{"type":"module"}')
symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
if (!compileAside('bench', join(place, 'compiled'))) giveUp('The bench does not compile, see above.')
await import(pathToFileURL(join(place, 'compiled/bench/capacity/main.js')).href)
