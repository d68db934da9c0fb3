// How much of an event-loop tick has gone on what clients have just sent. Node hands out all that has come on all
// connections before anybody else has a turn: 200 clients that each cost 1 ms keep the 201st waiting for 200 ms. So
// whoever works on what comes asks here, and leaves the rest for the next turn.
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

/** So much of a turn may be used up; what is begun then is still finished. */
const TURN_MS = 10

/** And so many requests may come after that, before no other connection begins one. */
const LATE_MAX = 64

let begunAt: number | undefined
let late = 0

/** Whether this turn has been used up. The time runs from the first question in a turn. */
export function isTurnUsedUp(): boolean {
  if (begunAt !== undefined) return performance.now() - begunAt > TURN_MS
  begunAt = performance.now()
  setImmediate(() => {
    begunAt = undefined
    late = 0
  })
  return false
}

/**
 * Told of each request as it comes. Reading one costs before anybody can put it off: 1,500 connections that brought 17
 * each were a turn of 370 ms. So the connections on which nothing is under way are not read until the next one.
 */
export function countArrival(): void {
  if (!isTurnUsedUp()) return
  late += 1
  if (late === LATE_MAX) pauseUntilNextTurn((socket) => connections.get(socket)?.() === false)
}

/** So many go on in each turn all the same: on a machine that is busy with something else, every turn takes long. */
const AT_LEAST = 32

/** Does the next of what waits; false when nothing does. */
type DoNext = () => boolean

/**
 * Work that waits for its turn. `begin` is called when there is some; it does what there is time for in the next turn, a
 * few pieces at least, and the rest in those after it.
 */
export function inNextTurns(doNext: DoNext): { begin: () => void } {
  let isUnderWay = false
  let done = 0

  function first(): void {
    done = 0
    more()
  }
  function more(): void {
    if (done >= AT_LEAST && isTurnUsedUp()) {
      setImmediate(first)
      return
    }
    done += 1
    isUnderWay = doNext()
    // What it set going, as bytes that are handed out, is done by then.
    if (isUnderWay) process.nextTick(more)
  }

  return {
    begin() {
      if (!isUnderWay) setImmediate(first)
      isUnderWay = true
    },
  }
}

/** Bodies whose rest waits, the one that has waited longest first: what has each read on. */
const resting: (() => void)[] = []
const wakes = inNextTurns(() => {
  const readOn = resting.shift()
  readOn?.()
  return readOn !== undefined
})

/**
 * Lets the rest of a body wait for a turn that has time for it; Node stops reading its connection when one piece more
 * has come. `readOn` is called then, and does the work that was put off; by itself the request is only read on.
 */
export function restUntilNextTurn(request: IncomingMessage, readOn: () => void = () => request.resume()): void {
  request.pause()
  resting.push(readOn)
  wakes.begin()
}

/** All connections of the process, with whether a request of each is under way. */
const connections = new Map<Socket, () => boolean>()
/** Those of them that are not read until the next turn. */
const waiting: Socket[] = []
let isReadingStopped = false

/** From now on the connection waits for the next turn when a flood has used up this one. */
export function watchConnection(socket: Socket, isBusy: () => boolean): void {
  connections.set(socket, isBusy)
  socket.once('close', () => connections.delete(socket))
}

/**
 * Has nothing more read from any connection in this turn. For floods whose cost is in the reading itself, before anybody
 * can refuse them: chunks of one byte cost 1.5 ms for each read of 64 KB, and 200 connections bring them at once.
 */
export function readNoMoreInThisTurn(): void {
  if (isReadingStopped) return
  isReadingStopped = true
  pauseUntilNextTurn(() => true)
}

function pauseUntilNextTurn(isMeant: (socket: Socket) => boolean): void {
  if (waiting.length === 0) {
    setImmediate(() => {
      isReadingStopped = false
      for (const socket of waiting.splice(0)) if (!socket.destroyed) socket.resume()
    })
  }
  for (const socket of connections.keys()) {
    // Whoever has paused it already will have it read again.
    if (socket.isPaused() || !isMeant(socket)) continue
    socket.pause()
    waiting.push(socket)
  }
}
