// Who has the connections of a server. A connection is as good as the last key that it showed: it counts for the account
// of that key, and for the address of the client while there was none or a wrong one. A newcomer is always let in and has
// a moment to say what it wants; who gives up a connection for it: fair-shares.ts.
import type { Socket } from 'node:net'
import { accountHolder, addressHolder, createFairShares, type Holder, isKeyless, type Share } from './fair-shares.ts'

/** A newcomer that has said nothing yet is spared for so long, as one that is being answered. */
const NEWCOMER_MS = 2_000

/** The place of each connection. */
const places = new WeakMap<Socket, Share>()

/** Counts the connection for the account whose key its request has shown. */
export function showedKey(socket: Socket, account: number): void {
  places.get(socket)?.moveTo(accountHolder(account))
}

/** Counts it for the address of the client, whose key was refused. */
export function showedNoKey(socket: Socket, address: string): void {
  places.get(socket)?.moveTo(addressHolder(address))
}

/** For whom the connection counts now. */
export const holderOf = (socket: Socket): Holder => places.get(socket)?.holder() ?? addressHolder(socket.remoteAddress)

/**
 * Keeps the connections of a server at `max`. `isBusy` tells whether a request of a connection is being answered; `cut` is
 * called when one was closed to make room.
 */
export function createConnections(max: number, isBusy: (socket: Socket) => boolean, cut: () => void) {
  const shares = createFairShares(max)
  const silentSince = new WeakMap<Socket, number>()

  const isSpared = (socket: Socket): boolean => {
    const since = silentSince.get(socket)
    return since === undefined ? isBusy(socket) : performance.now() - since < NEWCOMER_MS
  }
  return {
    /** Takes a new connection in. When there are too many, another one is closed. */
    add(socket: Socket): void {
      const close = (): void => {
        socket.destroy()
        cut()
      }
      silentSince.set(socket, performance.now())
      const place = shares.hold(addressHolder(socket.remoteAddress), close, () => isSpared(socket))
      places.set(socket, place)
      socket.once('close', place.release)
      place.add(1)
    },
    /** A request of the connection begins, from a client with the address that is told. */
    begin(socket: Socket, addressOf: () => string): void {
      silentSince.delete(socket)
      // While Redis is slow, keys are not known for long, and those of all clients would become strangers.
      if (isKeyless(holderOf(socket))) showedNoKey(socket, addressOf())
    },
  }
}
