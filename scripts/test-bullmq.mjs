// `npm run test:bullmq`: the tests of what uses BullMQ, src/lanes and the client, with the BullMQ that is pinned, with the
// newest patch of the minor before, and with the newest that is published; those of the client also with the oldest that it
// takes. Each but the pinned one is installed into node_modules/.cache, and removed afterwards; where npm's registry cannot
// be reached they are left out. `npm run test:bullmq -- --pinned` runs the first alone.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder, prepareBuild, root, typed } from './prepare.mjs'
import { prepareRedis } from './system-packages.mjs'

/** A registry that cannot be reached is not waited for. */
const PATIENCE = ['--fetch-retries=1', '--fetch-timeout=30000']

const isPinnedOnly = typed({ pinned: { type: 'boolean' } }).pinned
prepareBuild()
prepareRedis()
const manifestOf = (path) => JSON.parse(readFileSync(join(root, path), 'utf8'))
const pinned = manifestOf('package.json').dependencies.bullmq
const [, oldest] = /^>=(\S+) /.exec(manifestOf('packages/client/package.json').dependencies.bullmq)
const folder = join(cacheFolder, `bullmq-${process.pid}`)
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))

console.error(`Testing with BullMQ ${pinned}, which is pinned.`)
const results = [{ name: pinned, passed: passes({}) }]
const published = isPinnedOnly ? [] : versions()
if (published === undefined) console.error('The registry cannot be reached: no other BullMQ was tested.')
for (const version of others(published ?? [])) test(version)
if (published?.length) test(oldest, 'client')
for (const { name, passed } of results) console.error(`BullMQ ${name}: ${passed ? 'passed' : 'failed'}`)
process.exitCode = results.every(({ passed }) => passed) ? 0 : 1

/** Whether the tests pass. */
function passes(env) {
  const args = [join(root, 'node_modules/vitest/vitest.mjs'), 'run', '--project', 'bullmq']
  return (
    spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } }).status === 0
  )
}

/** Tests with another version; `of` the client alone, beside a service with the pinned one. */
function test(version, of = '') {
  const name = of === '' ? version : `${version} of the ${of}`
  console.error(`Testing with BullMQ ${name}.`)
  const installed = install(version)
  if (!installed) console.error(`BullMQ ${version} could not be installed, see above.`)
  const env = { LANEWAY_TEST_BULLMQ: folder, LANEWAY_TEST_BULLMQ_VERSION: version, LANEWAY_TEST_BULLMQ_OF: of }
  results.push({ name, passed: installed && passes(env) })
}

/** Installs it, with the Redis client that the service has. */
function install(version) {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{}')
  const packages = [`bullmq@${version}`, `ioredis@${manifestOf('package.json').dependencies.ioredis}`]
  const options = ['--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error', ...PATIENCE]
  return spawnSync('npm', ['install', ...options, '--prefix', folder, ...packages], { stdio: 'inherit' }).status === 0
}

/** What is published, the oldest first, without previews; undefined where that cannot be learnt. */
function versions() {
  const npm = spawnSync('npm', ['view', 'bullmq', 'versions', '--json', ...PATIENCE], { encoding: 'utf8' })
  if (npm.status !== 0) return undefined
  return JSON.parse(npm.stdout)
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version))
    .sort(compare)
}

/** The newest patch of the minor before the pinned one, and the newest of all unless that is pinned. */
function others(published) {
  const [major, minor] = pinned.split('.')
  const before = published.findLast((version) => compare(version, `${major}.${minor}.0`) < 0)
  const newest = published.at(-1)
  if (newest === pinned) console.error(`BullMQ ${pinned} is the newest that is published.`)
  return [before, newest].filter((version) => version !== undefined && version !== pinned)
}

function compare(one, other) {
  return one.localeCompare(other, undefined, { numeric: true })
}
