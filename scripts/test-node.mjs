// `npm run test:node -- 24`: the unit and component tests under another version of Node. The binary comes from npm's own
// packages of Node, one per platform, into node_modules/.cache; nothing outside the checkout changes. Further arguments
// go to vitest.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { giveUp, prepareBuild, root } from './prepare.mjs'
import { prepareRedis } from './system-packages.mjs'

/** The release of each supported line that the tests run on: the oldest that package.json admits, then the newest on npm. */
const RELEASES = { 20: '20.19.0', 22: '22.23.3', 24: '24.21.0', 26: '26.12.1' }

const [line, ...rest] = process.argv.slice(2)
const release = RELEASES[line]
if (release === undefined)
  giveUp(`npm run test:node takes one of ${Object.keys(RELEASES).join(', ')}, for example: npm run test:node -- 24`, 2)

prepareBuild()
prepareRedis()
const node = nodeBinary(release)
console.error(`Testing on Node ${release}.`)
const vitest = join(root, 'node_modules/vitest/vitest.mjs')
const paths = rest.length > 0 ? rest : ['test/unit', 'test/component']
const run = spawnSync(node, [vitest, 'run', '--project', 'tests', ...paths], {
  cwd: root,
  stdio: 'inherit',
  // Child processes that the tests start by `node` on the PATH must be of the same version.
  env: { ...process.env, PATH: `${join(node, '..')}:${process.env.PATH}` },
})
process.exit(run.status ?? 1)

/** The path of the binary, installed when it is not there yet. */
function nodeBinary(version) {
  const name = `node-${process.platform}-${process.arch}`
  const place = join(root, 'node_modules/.cache/node', version)
  const binary = join(place, 'node_modules', name, 'bin/node')
  if (existsSync(binary)) return binary
  console.error(`Installing Node ${version} ...`)
  const options = ['--no-save', '--no-package-lock', '--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const npm = spawnSync('npm', ['install', ...options, '--prefix', place, `${name}@${version}`], { stdio: 'inherit' })
  if (npm.status !== 0 || !existsSync(binary)) giveUp(`Node ${version} could not be installed, see above.`)
  return binary
}
