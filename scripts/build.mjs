// `npm run build`: compiles src/, the simulator and the demo to dist/, puts Lua scripts and files beside what loads them,
// writes the description of the interface, which takes a producer too long, and builds the console's page with Vite.
// Built aside and put in place by rename: a process that starts meanwhile never finds half a dist/, and a failed build
// leaves the old one. Does nothing when dist/ was built from the very sources that are there. Types are not checked here
// but by `npm run check`, which takes five times as long.
import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  BUILD_STAMP,
  buildIsFresh,
  compiler,
  fingerprintOfSources,
  prepareDependencies,
  root,
  typed,
} from './prepare.mjs'

typed()
prepareDependencies()
if (buildIsFresh()) process.exit(0)
const draft = join(root, `dist.${process.pid}`)
process.on('exit', () => rmSync(draft, { recursive: true, force: true }))
// Taken before the compiler reads: a file saved while it runs makes the next start build again.
const fingerprint = fingerprintOfSources()
compile('src', draft)
cpSync(join(root, 'src'), draft, { recursive: true, filter: (path) => !/\.ts$|tsconfig\.json$/.test(path) })
// The production image has neither of them.
if (existsSync(join(root, 'packages/simulator'))) {
  compile('packages/simulator', join(draft, 'simulator'))
  compileDemo()
}
const { publish } = await import(pathToFileURL(join(draft, 'producer/openapi/publish.js')).href)
writeFileSync(join(draft, 'producer/openapi/published.json'), JSON.stringify(publish()))
await buildConsole()
writeFileSync(join(draft, BUILD_STAMP), fingerprint)
putInPlace(draft, join(root, 'dist'))

function compile(project, outDir) {
  const args = [compiler, '-p', join(root, project), '--noCheck', '--outDir', outDir]
  const { status } = spawnSync(process.execPath, args, { stdio: 'inherit' })
  if (status !== 0) process.exit(status ?? 1)
}

/** The demo takes what it needs of the product from src, which is `..` in dist. */
function compileDemo() {
  const to = join(draft, 'demo')
  compile('packages/simulator/demo', to)
  cpSync(join(root, 'packages/simulator/demo/files'), join(to, 'files'), { recursive: true })
  for (const file of readdirSync(to).filter((name) => name.endsWith('.js'))) {
    const path = join(to, file)
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll("'../../../src/", "'../"))
  }
}

async function buildConsole() {
  const { build } = await import('vite')
  await build({
    root: join(root, 'packages/console/src'),
    base: '/console/',
    configFile: false,
    envDir: false,
    publicDir: false,
    logLevel: 'warn',
    // Development is said here, or a build that a test starts (NODE_ENV=test) is one for it, half as large again. Calls with
    // children as arguments make the page a kilobyte smaller than the automatic runtime, which names them in an object.
    oxc: {
      jsx: { runtime: 'classic', pragma: 'jsxElement', pragmaFrag: 'JsxFragment', development: false },
      jsxInject: "import { h as jsxElement, Fragment as JsxFragment } from 'preact'",
    },
    define: { 'process.env.NODE_ENV': '"production"' },
    build: {
      outDir: join(draft, 'console'),
      emptyOutDir: true,
      target: 'es2022',
      // The Content-Security-Policy takes no data: address for a script, a style or a picture of ours.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      reportCompressedSize: false,
    },
  })
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
