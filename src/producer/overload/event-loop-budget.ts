// How long one iteration of the event loop may go on reading what clients have sent. Node reads every connection that has
// something before anything else runs: 200 connections that cost 10 ms each, as a read full of pipelined requests or of
// one-byte chunks does, would keep the 201st waiting for 2 s. Once the budget is spent, no connection is read until the
// next iteration.
import type { Socket } from 'node:net'

const BUDGET_MS = 10
/** So much is read in each iteration all the same: on a machine that is busy with something else, all of them take long. */
const AT_LEAST = 128

/** All connections; those that were read lately stand last. */
const connections = new Set<Socket>()
/** Connections that were read in this iteration. */
const read = new Set<Socket>()
/** Connections that are not read until the next iteration. */
let paused: Socket[] = []
let beganAt: number | undefined
let spent = 0

/** From now on the connection is not read while the budget is spent. */
export function watchConnection(socket: Socket): void {
  connections.add(socket)
  socket.once('close', () => {
    connections.delete(socket)
    read.delete(socket)
  })
}

/**
 * Called for each request that begins on a connection and each piece of a body that is read; the first call of an iteration
 * starts the clock.
 */
export function spendBudget(socket: Socket): void {
  spent += 1
  read.add(socket)
  if (beganAt === undefined) {
    beganAt = performance.now()
    setImmediate(nextIteration)
  } else if (spent > AT_LEAST && paused.length === 0 && performance.now() - beganAt > BUDGET_MS) {
    // Those that are paused already are resumed by the code that paused them.
    paused = [...connections].filter((each) => !each.isPaused())
    for (const each of paused) each.pause()
  }
}

/** Those that were not read come first: else a few that always have something would keep all others waiting for ever. */
function nextIteration(): void {
  beganAt = undefined
  spent = 0
  for (const socket of read) {
    if (connections.delete(socket)) connections.add(socket)
  }
  const waited = paused
  paused = []
  const [first, last] = [waited.filter((socket) => !read.has(socket)), waited.filter((socket) => read.has(socket))]
  read.clear()
  for (const socket of [...first, ...last]) if (!socket.destroyed) socket.resume()
}
