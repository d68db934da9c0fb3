// `npm run test:servers`: the tests that need programs beyond Node and Redis, as other people run beside Laneway. What is
// not there is installed. Further arguments go to vitest.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { giveUp, root } from './prepare.mjs'
import { installPackages, mayInstall, runs } from './system-packages.mjs'

/** Each program, how to find that it is there, and its Debian package. */
const PROGRAMS = [
  { program: 'openssl', args: ['version'], package: 'openssl' },
  { program: 'memcached', args: ['-V'], package: 'memcached' },
  ...['proxy', 'account', 'container', 'object'].map((part) => ({
    program: `swift-${part}-server`,
    args: ['--help'],
    package: `swift-${part}`,
  })),
  { program: 'promtool', args: ['--version'], package: 'prometheus' },
  { program: 'chromium', args: ['--version'], package: 'chromium' },
  { program: 'nginx', args: ['-v'], package: 'nginx' },
  { program: 'caddy', args: ['version'], package: 'caddy' },
]

const missing = () => PROGRAMS.filter(({ program, args }) => !runs(program, ...args))
const packages = missing().map((each) => each.package)
if (packages.length > 0 && mayInstall()) {
  console.error(`Installing ${packages.join(', ')} with apt-get ...`)
  installPackages(packages)
}
if (missing().length > 0) {
  const names = missing().map((each) => each.package)
  giveUp(
    `These tests need ${missing()
      .map(({ program }) => program)
      .join(', ')}. On Debian: sudo apt-get install -y --no-install-recommends ${names.join(' ')}`,
  )
}
installSchemas()
process.argv.splice(2, 0, '--project', 'servers')
await import('./test.mjs')

/** The published schemas that deploy/kubernetes is judged by: 33 MB that nothing else needs. */
function installSchemas() {
  const folder = join(root, 'test/servers/kubernetes-schemas')
  if (existsSync(join(folder, 'node_modules/.package-lock.json'))) return
  console.error('Installing the schemas of Kubernetes and KEDA (npm ci) ...')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const npm = spawnSync('npm', ['ci', ...options], { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] })
  if (npm.status !== 0) giveUp('npm ci failed, see above.')
}
