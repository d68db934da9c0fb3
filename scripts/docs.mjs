// `npm run docs`: renews the made parts of docs/reference, builds docs/ as a site and serves it on loopback.
// `-- --build` only builds, into docs/.vitepress/dist. `-- --reference` only renews the made parts. `-- --check` says which
// of them are out of date and exits with 1 if any is.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { prepareBuild, root } from './prepare.mjs'
import { writeReference } from './reference.mjs'
import { giveUp, say } from './say.mjs'
import { takeWords } from './words.mjs'

const words = takeWords('npm run docs', ['--build', '--reference', '--check'])
const isCheck = words.includes('--check')
prepareBuild()
const changed = await writeReference({ isDry: isCheck })
for (const path of changed)
  say(isCheck ? `${path} is out of date; npm run docs -- --reference renews it.` : `Renewed ${path}.`)
if (isCheck) process.exit(changed.length === 0 ? 0 : 1)
if (!words.includes('--reference')) {
  installSite()
  vitepress('build', 'docs')
  if (!words.includes('--build')) vitepress('preview', 'docs', '--host', '127.0.0.1')
}

/** VitePress has a lock of its own in docs/.vitepress: nobody who runs Laneway needs it. */
function installSite() {
  const site = join(root, 'docs/.vitepress')
  if (existsSync(join(site, 'node_modules/.package-lock.json'))) return
  say('Installing VitePress (npm ci) ...')
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--loglevel=error']
  const npm = spawnSync('npm', ['ci', ...options], { cwd: site, stdio: ['ignore', 'inherit', 'inherit'] })
  if (npm.status !== 0) giveUp('npm ci failed, see above.')
}

function vitepress(...args) {
  const program = join(root, 'docs/.vitepress/node_modules/vitepress/bin/vitepress.js')
  const { status } = spawnSync(process.execPath, [program, ...args], { cwd: root, stdio: 'inherit' })
  if (status !== 0) giveUp(`vitepress ${args[0]} failed, see above.`)
}
