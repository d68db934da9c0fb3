// `npm run docs`: renews the made parts of docs/, builds docs/ as a site and serves it on loopback.
// `-- --build` only builds, into docs/.vitepress/dist. `-- --reference` only renews the made parts. `-- --check` lists which
// of them are out of date and exits with 1 if any is.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { giveUp, prepareBuild, root, typed } from './prepare.mjs'
import { writeReference } from './reference.mjs'

const flag = { type: 'boolean' }
const { build, reference, check } = typed({ build: flag, reference: flag, check: flag })
prepareBuild()
const changed = await writeReference({ isDry: check })
for (const { path, lines } of changed) {
  console.error(check ? `${path} is out of date; npm run docs -- --reference renews it:` : `Renewed ${path}.`)
  if (check) console.error(lines.join('\n'))
}
if (check) process.exit(changed.length === 0 ? 0 : 1)
if (!reference) {
  installSite()
  vitepress('build', 'docs')
  if (!build) vitepress('preview', 'docs', '--host', '127.0.0.1')
}

/** VitePress has a lock of its own in docs/.vitepress: nobody who runs Laneway needs it. */
function installSite() {
  const site = join(root, 'docs/.vitepress')
  if (existsSync(join(site, 'node_modules/.package-lock.json'))) return
  console.error('Installing VitePress (npm ci) ...')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const npm = spawnSync('npm', ['ci', ...options], { cwd: site, stdio: ['ignore', 'inherit', 'inherit'] })
  if (npm.status !== 0) giveUp('npm ci failed, see above.')
}

function vitepress(...args) {
  const program = join(root, 'docs/.vitepress/node_modules/vitepress/bin/vitepress.js')
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) giveUp(`vitepress ${args[0]} failed, see above.`)
}
