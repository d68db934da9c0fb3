// How much of a turn of the event loop has gone on what clients have just sent. Node hands out all that has come on all
// connections before anybody else has a turn: 200 clients that each cost 1 ms keep the 201st waiting for 200 ms. So
// whoever works on what comes asks here, and leaves the rest for the next turn.
import type { IncomingMessage } from 'node:http'

/** So much of a turn may be used up; what is begun then is still finished. */
const TURN_MS = 10

let begunAt: number | undefined

/** Whether this turn has been used up. The time runs from the first question in a turn. */
export function isTurnUsedUp(): boolean {
  if (begunAt !== undefined) return performance.now() - begunAt > TURN_MS
  begunAt = performance.now()
  setImmediate(() => {
    begunAt = undefined
  })
  return false
}

/** Lets the rest of a body wait for the next turn; Node stops reading its connection when one piece more has come. */
export function restUntilNextTurn(request: IncomingMessage): void {
  request.pause()
  setImmediate(() => request.resume())
}
