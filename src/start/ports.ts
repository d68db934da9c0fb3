// Ports of the processes that belong to one data folder. The simulator keeps its own over restarts, because people's tools
// and the demo senders remember it.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { z } from 'zod'
import { readJsonFile, writeJsonFile } from './json-file.ts'
import { StartError, systemCode } from './start-error.ts'
import { waitUntil } from './wait-until.ts'

const LOOPBACK = '127.0.0.1'
/** A process of the run before may still be closing its port. */
const PATIENCE_MS = 2_000

const portsSchema = z.object({ simulator: z.number().int().optional() })

/** Throws a StartError when nobody can listen there, before anything else is started. Port 0 is always free. */
export async function assertCanListen(host: string, port: number): Promise<void> {
  try {
    await tryListen(host, port)
  } catch (error) {
    throw listenError(error, { host, port, names: { host: 'HOST', port: 'PORT' } }) ?? error
  }
}

/** Where somebody wanted to listen, and the settings that said so. */
interface Wanted {
  host: string
  port: number
  names: { host: string; port: string }
}

/** The sentence for a failed listen; undefined for an error that is none. */
export function listenError(error: unknown, { host, port, names }: Wanted): StartError | undefined {
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return new StartError(
        `Port ${port} on ${host} is taken by another program; set ${names.port} to a free one, or to 0.`,
      )
    case 'EACCES':
      return new StartError(
        `Port ${port} needs more rights than this user has; set ${names.port} to 1024 or above, or to 0.`,
      )
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
    case 'EINVAL':
      return new StartError(`${names.host} is "${host}": this machine has no such address; 127.0.0.1 is always there.`)
    default:
      return undefined
  }
}

/** The port that the simulator had before, when it is free; else another free one, which is remembered from now on. */
export async function keptSimulatorPort(dataDir: string): Promise<number> {
  const path = join(dataDir, 'ports.json')
  const kept = readJsonFile(path, portsSchema)?.simulator
  if (kept !== undefined && (await waitUntil(() => isFree(kept), PATIENCE_MS))) return kept
  const port = await tryListen(LOOPBACK, 0)
  writeJsonFile(path, { simulator: port })
  return port
}

async function isFree(port: number): Promise<boolean> {
  try {
    await tryListen(LOOPBACK, port)
    return true
  } catch {
    return false
  }
}

async function tryListen(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return address !== null && typeof address === 'object' ? address.port : port
}
