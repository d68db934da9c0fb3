// A server's connections as fair shares. A connection counts for the account of the last key that it used, and for the address of the
// client before the first key and after a wrong one. A new one is always accepted and has a moment to make its first request.

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { accountHolder, addressHolder, createFairShares, type Holder, isKeyless, type Share } from './fair-shares.ts'

/** How long a new connection without a request is spared, like one that is being answered; also by a stop. */
const NEWCOMER_MS = 2_000

/** The share of each connection. */
const shareOf = new WeakMap<Socket, Share>()

/** Counts the connection for the account of its request's key. */
export function showedKey(socket: Socket, account: number): void {
  shareOf.get(socket)?.moveTo(accountHolder(account))
}

/** Counts it for the address of the client, whose key was refused. */
export function showedNoKey(socket: Socket, address: string): void {
  shareOf.get(socket)?.moveTo(addressHolder(address))
}

/** For whom the connection counts now. */
export const holderOf = (socket: Socket): Holder => shareOf.get(socket)?.holder() ?? addressHolder(socket.remoteAddress)

/**
 * Keeps the connections of a server at `max`. `isBusy`: whether a request of a connection is being answered. `cut` is called
 * when one was closed to make room.
 */
export function createConnections(max: number, isBusy: (socket: Socket) => boolean, cut: () => void) {
  const shares = createFairShares(max)
  const silentSince = new Map<Socket, number>()

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
      const share = shares.hold(addressHolder(socket.remoteAddress), close, () => isSpared(socket))
      shareOf.set(socket, share)
      socket.once('close', () => {
        silentSince.delete(socket)
        share.release()
      })
      share.add(1)
    },
    /** Closes connections on which no request has begun for a moment, such as those that browsers open ahead. */
    closeSilent(): void {
      for (const socket of silentSince.keys()) if (socket.bytesRead === 0 && !isSpared(socket)) socket.destroy()
    },
    /** A request begins on its connection; `addressOf` finds the client's address. */
    begin(request: IncomingMessage, addressOf: (request: IncomingMessage) => string): void {
      const { socket } = request
      silentSince.delete(socket)
      // While Redis is slow, keys stay unchecked for long, and all clients would count as those without a key.
      if (isKeyless(holderOf(socket))) showedNoKey(socket, addressOf(request))
    },
  }
}
