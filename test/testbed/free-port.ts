// Ports for the processes of tests.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'

/**
 * Below the ports that the system gives to connections (32768 on Linux): one of those may be taken by a connection of
 * another process between the look and the start of the process.
 */
const [LOWEST, HIGHEST] = [20_000, 32_000]
const ATTEMPTS = 50
const given = new Set<number>()

/** A loopback port that nobody listens on, for a process that must come back on the same one after it was killed. */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = randomInt(LOWEST, HIGHEST)
    if (given.has(port) || !(await isFree(port))) continue
    given.add(port)
    return port
  }
  throw new Error(`no free port between ${LOWEST} and ${HIGHEST}`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer()
  // It rejects when an error comes first, as for a port that is taken.
  const outcome = once(server, 'listening').then(
    () => true,
    () => false,
  )
  server.listen(port, '127.0.0.1')
  const free = await outcome
  if (free) {
    server.close()
    await once(server, 'close')
  }
  return free
}

/** Has a server listen on a loopback port that the system chooses, and resolves to that. */
export async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port was given')
  return address.port
}
