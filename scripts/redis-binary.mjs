// Makes sure that a Redis server can be started: one on the PATH, else the system's package, installed only where that
// needs no further question (a Debian-like system, root).
import { installPackages, mayInstall, runs } from './debian-packages.mjs'
import { giveUp, say } from './say.mjs'

const BINARIES = ['redis-server', 'valkey-server']

const redisIsThere = () => BINARIES.some((binary) => runs(binary, '--version'))

/** Returns when a Redis server binary is on the PATH; else ends the script with the commands that put one there. */
export function prepareRedis() {
  if (redisIsThere()) return
  if (mayInstall()) {
    say('No redis-server found: installing the package redis-server with apt-get ...')
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
