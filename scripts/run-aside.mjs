// `npm run prove|bench|capacity|fuzz`: compiles one of these and what it uses of src/, the simulator and the tests into a
// folder of its own, with a copy of dist/ beside it, and runs it there: a build that somebody makes meanwhile changes
// nothing of what is being measured. Words after it are its own.
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compiler, giveUp, prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './system-packages.mjs'

/** Where each of them is. */
const FOLDERS = { prove: 'test/prove', fuzz: 'test/fuzz', bench: 'bench' }

const [name, entry] = process.argv.splice(2, 1)[0].split(':')
const home = FOLDERS[name]
prepareBuild()
if (entry === undefined) prepareRedis()
const place = mkdtempSync(join(tmpdir(), `laneway-${name}-`))
// The proof keeps its own folder when it has found something.
if (name !== 'prove') process.on('exit', () => rmSync(place, { recursive: true, force: true }))
const compiled = join(place, 'compiled')
const tsc = [compiler, '-p', join(root, home), '--noCheck', '--outDir', compiled]
if (spawnSync(process.execPath, tsc, { stdio: ['ignore', process.stderr, process.stderr] }).status !== 0) {
  rmSync(place, { recursive: true, force: true })
  giveUp(`${home}/ does not compile, see above.`)
}
cpSync(join(root, 'dist'), join(place, 'dist'), { recursive: true })
for (const folder of [place, compiled]) cpSync(join(root, 'package.json'), join(folder, 'package.json'))
symlinkSync(join(root, 'node_modules'), join(place, 'node_modules'))
// What is loaded at run time and is no TypeScript, beside what loads it.
for (const folder of ['src', 'packages/simulator/demo/files']) {
  const filter = (path) => !/\.tsx?$|tsconfig\.json$/.test(path)
  cpSync(join(root, folder), join(compiled, folder), { recursive: true, filter })
}
await import(pathToFileURL(join(compiled, entry ?? `${home}/main.js`)).href)
