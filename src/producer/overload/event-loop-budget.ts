// A budget for reading from clients in one iteration of the event loop. Node reads every readable connection before anything else runs: 200
// connections that cost 10 ms each, as a read full of pipelined requests or of one-byte chunks does, would delay the 201st by 2 s. Once the
// budget is spent, all connections are paused until the next iteration, and those that were read stay paused until all others have had
// their turn: a round.
//
// Resuming the others first is not enough: epoll reports connections that stayed ready in its own order, so fifty busy ones
// were read again and again while a new one waited 5 s.
import type { Socket } from 'node:net'

const BUDGET_MS = 10
/** Reads per iteration that are always allowed: on a busy machine every read takes long. */
const AT_LEAST = 128

const connections = new Set<Socket>()
/** Connections that were read in this iteration. */
const read = new Set<Socket>()
/** Connections that were read in this round, or opened during it: paused until it ends. */
const held = new Set<Socket>()
/** Connections that were paused in this iteration, because its budget is spent. */
let paused: Socket[] = []
let iterationEnd: NodeJS.Immediate | undefined
let beganAt: number | undefined
let spent = 0

/** Puts a connection under the budget. */
export function watchConnection(socket: Socket): void {
  connections.add(socket)
  socket.once('close', () => {
    connections.delete(socket)
    read.delete(socket)
    held.delete(socket)
  })
  // Else a stream of new connections would make a round endless. Only after this tick: Node starts to read in it.
  process.nextTick(() => {
    if (held.size === 0 || socket.destroyed || socket.isPaused()) return
    socket.pause()
    held.add(socket)
  })
}

/**
 * Called for each request that begins on a connection and each piece of a body that is read; the first call of an iteration
 * starts the clock.
 */
export function spendBudget(socket: Socket): void {
  spent += 1
  read.add(socket)
  if (iterationEnd === undefined) iterationEnd = setImmediate(endIteration)
  if (beganAt === undefined) {
    beganAt = performance.now()
  } else if (spent > AT_LEAST && paused.length === 0 && performance.now() - beganAt > BUDGET_MS) {
    // Skip sockets that somebody else has paused.
    paused = [...connections].filter((each) => !each.isPaused())
    for (const each of paused) each.pause()
  }
}

/** Resumes those that were not read in this round. When there are none, or they left some of the budget, the round ends. */
function endIteration(): void {
  const waiting = paused.filter((socket) => !read.has(socket))
  for (const socket of paused) if (read.has(socket)) held.add(socket)
  iterationEnd = undefined
  beganAt = undefined
  spent = 0
  paused = []
  read.clear()
  for (const socket of waiting) if (!socket.destroyed) socket.resume()
  if (waiting.length > 0) {
    // Those that wait may have nothing to read: then nobody else would end the next iteration, and with it the round.
    iterationEnd = setImmediate(endIteration)
    return
  }
  for (const socket of held) if (!socket.destroyed) socket.resume()
  held.clear()
}
