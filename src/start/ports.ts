// Whether a port can be had, and what to say when it cannot.
import { once } from 'node:events'
import { createServer } from 'node:net'
import { StartError, systemCode } from './start-error.ts'

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

/** Listens there for a moment; returns the port, which the system chose for 0. */
export async function tryListen(host: string, port: number): Promise<number> {
  const server = createServer().listen(port, host)
  await once(server, 'listening')
  const address = server.address()
  server.close()
  await once(server, 'close')
  return address !== null && typeof address === 'object' ? address.port : port
}
