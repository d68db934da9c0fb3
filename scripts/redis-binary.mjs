// Makes sure that a Redis server can be started: one on the PATH, else the system's package, installed only where that
// needs no further question (a Debian-like system, root).
import { spawnSync } from 'node:child_process'
import { giveUp, say } from './say.mjs'

const BINARIES = ['redis-server', 'valkey-server']

const runs = (command, ...args) => spawnSync(command, args, { stdio: 'ignore' }).status === 0
const redisIsThere = () => BINARIES.some((binary) => runs(binary, '--version'))

/** Returns when a Redis server binary is on the PATH; else ends the script with the commands that put one there. */
export function prepareRedis() {
  if (redisIsThere()) return
  const debianAsRoot = process.getuid?.() === 0 && runs('apt-get', '--version')
  if (debianAsRoot) {
    say('No redis-server found: installing the package redis-server with apt-get ...')
    installPackage()
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

/**
 * RUNLEVEL=1 keeps the package from starting a Redis of its own on port 6379, which nobody asked for: its service is
 * not meant for that run level. (A policy-rc.d file does the same but would outlive a crash of this script.)
 */
function installPackage() {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' }
  const wait = ['-o', 'DPkg::Lock::Timeout=120', '-qq']
  for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'redis-server']]) {
    const done = spawnSync('apt-get', [...wait, ...args], { env, encoding: 'utf8' })
    if (done.status !== 0) say(`apt-get ${args[0]} failed:\n${done.stdout}${done.stderr}`)
  }
}
