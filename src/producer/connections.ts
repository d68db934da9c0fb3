// Who makes room when all connections are taken. Anybody may open some; without a choice, 2,000 that do nothing would
// keep everybody else out. So the newcomer is let in, and a connection on which no good key has come yet is closed: one
// of the address that has the most of them, and of those the oldest without a request. Whoever shows a key stays.
//
// There is no share for each address: behind a reverse proxy all clients have one.
import type { Socket } from 'node:net'
import { clientOf } from '../accounts/networks.ts'

/** Connections of one address that are looked at for one without a request. */
const LOOKED_AT = 64

/** Connections on which a good key has come. */
const keyed = new WeakSet<Socket>()

/** Remembers that whoever is at the other end has shown a good key. */
export function showedKey(socket: Socket): void {
  keyed.add(socket)
}

/** Keeps the connections of a server at `max`. `isBusy` tells whether a request of a connection is being answered. */
export function createRoom(max: number, isBusy: (socket: Socket) => boolean) {
  const open = new Set<Socket>()
  /** Those that have shown no key when last looked at, the oldest first, by address. */
  const keyless = new Map<string, Set<Socket>>()

  function forget(address: string, socket: Socket): void {
    const own = keyless.get(address)
    if (own?.delete(socket) && own.size === 0) keyless.delete(address)
  }

  /** One of the address that has the most; undefined when all have shown a key. */
  function leastMissed(): Socket | undefined {
    let most: Set<Socket> | undefined
    for (const [address, own] of keyless) {
      for (const socket of own) {
        // Those behind it are looked at when they stand first.
        if (!keyed.has(socket)) break
        forget(address, socket)
      }
      if (own.size > (most?.size ?? 0)) most = own
    }
    let oldest: Socket | undefined
    let looked = 0
    for (const socket of most ?? []) {
      if (keyed.has(socket)) continue
      if (!isBusy(socket)) return socket
      oldest ??= socket
      looked += 1
      if (looked === LOOKED_AT) break
    }
    return oldest
  }

  return {
    /**
     * Takes a new connection in. When there are too many, another one is closed, or this one where all others have shown
     * a key. True when one had to be closed.
     */
    add(socket: Socket): boolean {
      const isFull = open.size >= max
      const leaving = isFull ? (leastMissed() ?? socket) : undefined
      if (leaving !== undefined) {
        leaving.destroy()
        // Its place is free now, and not only when the system has closed it.
        open.delete(leaving)
        forget(addressOf(leaving), leaving)
      }
      if (leaving === socket) return true
      const address = addressOf(socket)
      open.add(socket)
      keyless.set(address, (keyless.get(address) ?? new Set()).add(socket))
      socket.once('close', () => {
        open.delete(socket)
        forget(address, socket)
      })
      return isFull
    },
  }
}

const addressOf = ({ remoteAddress = '' }: Socket): string => clientOf(remoteAddress)
