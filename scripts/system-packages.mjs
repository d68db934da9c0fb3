// Programs of the system that are needed, installed only where that needs no further question: on a Debian-like system, as
// root.
import { spawnSync } from 'node:child_process'
import { giveUp } from './prepare.mjs'

/** Whether a command runs and ends well; what it prints is thrown away. */
export const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0

/** Whether packages can be installed here without asking anybody. */
export const mayInstall = () => process.getuid?.() === 0 && runs('apt-get', '--version')

/**
 * Installs packages, and prints why when that fails. RUNLEVEL=1 keeps a package from starting a server of its own, such
 * as a Redis on port 6379, which nobody asked for: its service is not meant for that run level. (A policy-rc.d file does
 * the same but would outlive a crash of this script.)
 */
export function installPackages(names) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const wait = ['-o', 'DPkg::Lock::Timeout=120', '-qq']
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', ...names]]) {
    const done = spawnSync('apt-get', [...wait, ...args], { env, encoding: 'utf8' })
    if (done.status !== 0) console.error(`apt-get ${args[0]} failed:\n${done.stdout}${done.stderr}`)
  }
}

const redisIsThere = () => ['redis-server', 'valkey-server'].some((binary) => runs(binary, '--version'))

/** Returns when a Redis server binary is on the PATH; else ends the script with the commands that put one there. */
export function prepareRedis() {
  if (redisIsThere()) return
  if (mayInstall()) {
    console.error('No redis-server found: installing the package redis-server with apt-get ...')
    installPackages(['redis-server'])
    if (redisIsThere()) return
  }
  giveUp(
    [
      'Laneway needs a Redis server, and there is no redis-server or valkey-server on the PATH. Use one of these:',
      '  Debian, Ubuntu:  sudo apt-get update && sudo apt-get install -y --no-install-recommends redis-server',
      '  macOS:           brew install redis',
      '  Docker:          docker compose up',
      '  your own:        REDIS_URL=redis://host:6379 npm start',
    ].join('\n'),
  )
}
