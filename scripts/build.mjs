// Compiles src/ and the simulator to dist/, puts Lua scripts and demo files beside the compiled files that load them,
// makes the description of the interface, which takes a producer too long, bundles what is started, builds the
// console's page into dist/console, and lists the packages that are in all that. Built aside and put in place by rename:
// nobody who starts a part meanwhile finds half a dist/, and a failed build leaves the old one. Does nothing when dist/
// was built from the very sources that are there.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { buildConsole } from './build-console.mjs'
import { bundlePrograms } from './bundle.mjs'
import { writeCarried } from './carried.mjs'
import { copyUncompiled } from './copy-uncompiled.mjs'
import { BUILD_STAMP, buildIsFresh, fingerprintOfSources, prepareDependencies, root } from './prepare.mjs'
import { takeWords } from './words.mjs'

takeWords('npm run build')
prepareDependencies()
if (buildIsFresh()) process.exit(0)
const draft = join(root, `dist.${process.pid}`)
// Taken before the compiler reads: a file saved while it runs makes the next start build again.
const fingerprint = fingerprintOfSources()
compile(root, draft)
// The production image has neither.
if (existsSync(join(root, 'simulator'))) compile(join(root, 'simulator'), join(draft, 'simulator'))
if (existsSync(join(root, 'demo'))) compileDemo(join(root, 'demo'), join(draft, 'demo'))
copyUncompiled(join(root, 'src'), draft)
await orNothing(() => describeInto(join(draft, 'producer/openapi')))
const programs = await orNothing(() => bundlePrograms(draft))
const pages = await orNothing(() => buildConsole(root, join(draft, 'console')))
// bull-board's pages are built already; src/producer/dashboard.ts serves them from here.
const dashboard = 'node_modules/@bull-board/ui'
cpSync(join(root, dashboard, 'dist'), join(draft, 'dashboard/dist'), { recursive: true })
await orNothing(() => writeCarried(draft, [...programs, ...pages, join(root, dashboard, 'package.json')]))
writeFileSync(join(draft, BUILD_STAMP), fingerprint)
putInPlace(draft, join(root, 'dist'))

/**
 * Compiles one TypeScript project; ends the process when it cannot be read. `npm run check` judges the types: here they
 * are only taken off, which takes a fifth of the time.
 */
function compile(project, outDir) {
  const compiler = join(root, 'node_modules/typescript-compiler/bin/tsc')
  const tsc = spawnSync(process.execPath, [compiler, '-p', project, '--noCheck', '--outDir', outDir], {
    stdio: 'inherit',
  })
  if (tsc.status === 0) return
  rmSync(draft, { recursive: true, force: true })
  process.exit(tsc.status ?? 1)
}

/** Compiles the demo. It takes what it needs of the product from ../src, which is `..` in dist. */
function compileDemo(from, to) {
  compile(from, to)
  cpSync(join(from, 'files'), join(to, 'files'), { recursive: true })
  for (const file of readdirSync(to).filter((name) => name.endsWith('.js'))) {
    const path = join(to, file)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll("'../src/", "'../"))
  }
}

/** Writes the description where published.js reads it. */
async function describeInto(folder) {
  const { publish } = await import(pathToFileURL(join(folder, 'publish.js')).href)
  writeFileSync(join(folder, 'published.json'), JSON.stringify(publish()))
}

/** One step of the build and what it returns; ends the process when it fails. */
async function orNothing(step) {
  try {
    return await step()
  } catch (error) {
    console.error(error)
    rmSync(draft, { recursive: true, force: true })
    process.exit(1)
  }
}

/** Two builds may end at the same moment; each makes way for itself until it is in place. */
function putInPlace(from, to) {
  const old = `${from}.old`
  for (;;) {
    try {
      renameSync(from, to)
      break
    } catch (error) {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
    }
    try {
      renameSync(to, old)
    } catch (error) {
      if (error.code !== 'ENOENT') throw error
    }
    rmSync(old, { recursive: true, force: true })
  }
}
