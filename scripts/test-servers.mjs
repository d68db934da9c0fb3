// `npm run test:servers`: the tests that need programs beyond Node and Redis, as other people run beside Laneway. What is
// not there is installed. Further arguments go to vitest.
import { installPackages, mayInstall, runs } from './debian-packages.mjs'
import { runTests } from './run-tests.mjs'
import { giveUp, say } from './say.mjs'

/** Each program, how one sees that it is there, and its Debian package. */
const PROGRAMS = [
  { program: 'openssl', args: ['version'], package: 'openssl' },
  { program: 'chromium', args: ['--version'], package: 'chromium' },
]

const missing = () => PROGRAMS.filter(({ program, args }) => !runs(program, ...args))
const packages = missing().map((each) => each.package)
if (packages.length > 0 && mayInstall()) {
  say(`Installing ${packages.join(', ')} with apt-get ...`)
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
runTests(['--config', 'vitest.servers.config.ts', ...process.argv.slice(2)])
