// Makes a fresh clone runnable: locked dependencies, then the build, each only when it is missing or out of date. Plain Node
// without dependencies, because it runs before there are any. It writes to stderr: stdout belongs to what is started.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

/** The folder of package.json. */
export const root = join(fileURLToPath(import.meta.url), '../..')
const inRoot = (path) => join(root, path)

/** Where scripts keep what only saves time; it may be deleted at any time. */
export const cacheFolder = inRoot('node_modules/.cache/laneway')

/** Where the fingerprint of the sources is kept that dist/ was built from. */
export const BUILD_STAMP = 'built-from'

export const compiler = inRoot('node_modules/typescript-compiler/bin/tsc')

/** Ends the script with the reason. */
export function giveUp(reason, status = 1) {
  console.error(reason)
  process.exit(status)
}

/** The options on the command line; ends with 2 for a word that the script does not know. */
export function typed(options = {}) {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    giveUp(error.message, 2)
  }
}

/** Installs what package-lock.json lists, unless exactly that is installed. */
export function prepareDependencies() {
  if (process.versions.node.localeCompare('20.19.0', undefined, { numeric: true }) < 0) {
    giveUp(`Laneway needs Node 20.19 or newer; this is ${process.versions.node}.`)
  }
  if (dependenciesAreInstalled()) return
  console.error('Installing the locked dependencies (npm ci) ...')
  // With NODE_ENV=production npm would leave out the compiler.
  const npm = spawnSync('npm', ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', process.stderr, process.stderr],
  })
  if (npm.status !== 0) giveUp('npm ci failed, see above.')
}

/** Dependencies, then dist/, unless it was built from the very sources that are there now. */
export function prepareBuild() {
  prepareDependencies()
  if (buildIsFresh()) return
  console.error('Building dist/ ...')
  const build = spawnSync(process.execPath, [join(root, 'scripts/build.mjs')], {
    stdio: ['ignore', process.stderr, process.stderr],
  })
  if (build.status !== 0) giveUp('The build failed, see above.')
}

/** Whether dist/ was built from the sources as they are. */
export function buildIsFresh() {
  const stamp = inRoot(`dist/${BUILD_STAMP}`)
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === fingerprintOfSources()
}

/** SHA-256 over everything that decides what dist/ holds. */
export function fingerprintOfSources() {
  const hash = createHash('sha256')
  const sources = ['src', 'packages/console', 'packages/simulator']
    .filter((folder) => existsSync(inRoot(folder)))
    .flatMap((folder) => readdirSync(inRoot(folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const others = ['tsconfig.json', 'package-lock.json', 'scripts/build.mjs'].map(inRoot)
  for (const path of [...sources, ...others]) {
    hash.update(path.slice(root.length)).update('\0').update(readFileSync(path)).update('\0')
  }
  return hash.digest('hex')
}

/**
 * Compares npm's own record of what it installed with the lock, version by version. File times would call for an
 * install after every checkout; npm writes its record last, so an interrupted install counts as none.
 */
function dependenciesAreInstalled() {
  const record = inRoot('node_modules/.package-lock.json')
  if (!existsSync(record)) return false
  const installed = JSON.parse(readFileSync(record, 'utf8')).packages
  const locked = JSON.parse(readFileSync(inRoot('package-lock.json'), 'utf8')).packages
  return Object.entries(locked).every(
    // Packages of this repository are no part of what npm installs, and the image is built without them.
    ([path, wanted]) =>
      !path.startsWith('node_modules/') ||
      wanted.link ||
      wanted.optional ||
      installed[path]?.version === wanted.version,
  )
}
