// `npm run fuzz -- --requests 20000 --seed 1`: generated requests against a whole service, compiled into a folder of its
// own, so that whoever builds meanwhile changes nothing of it.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { copyUncompiled } from './copy-uncompiled.mjs'
import { prepareDependencies, root } from './prepare.mjs'
import { prepareRedis } from './redis-binary.mjs'
import { giveUp } from './say.mjs'

prepareDependencies()
prepareRedis()

const place = mkdtempSync(join(tmpdir(), 'laneway-fuzz-'))
process.on('exit', () => rmSync(place, { recursive: true, force: true }))
cpSync(join(root, 'package.json'), join(place, 'package.json'))
symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))

const tsc = join(root, 'node_modules/typescript-compiler/bin/tsc')
const compiled = spawnSync(process.execPath, [tsc, '-p', join(root, 'tsconfig.fuzz.json'), '--outDir', place], {
  stdio: ['ignore', process.stderr, process.stderr],
})
if (compiled.status !== 0) giveUp('The fuzzer does not compile, see above.')
copyUncompiled(join(root, 'src'), join(place, 'src'))
await import(pathToFileURL(join(place, 'fuzz/main.js')).href)
