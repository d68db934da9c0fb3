// One connection to a provider: one request at a time, written in one piece, and its answer. That it is written in one
// piece by one call is what makes proof possible: before that call nothing has left, from then on anything may have.
import { channel } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import { type Answer, AnswerError, createAnswerReader } from './http-answer.ts'

/** A request and who hears of its end, which comes once: an answer, or a short word for what went wrong. */
export interface Call {
  /**
   * The connection is there: what is to be written to it now. Undefined when nothing is to leave any more; the connection
   * is kept for another request.
   */
  leave(connection: Connection): { path: string; text: string } | undefined
  answered(answer: Answer): void
  failed(cause: string): void
}

/** An open connection. */
export interface Connection {
  /** Takes a request if it can; false, and nobody has seen the request, when it is closed or too old, which ends it. */
  take(call: Call): boolean
  /** Closes it; a request that is under way fails. */
  destroy(): void
  /** Nobody may use it after that (`performance.now()`). */
  usableUntil: () => number
}

/** Idle ones are closed before the usual 5 s of a server, so that few requests meet a socket that is just being closed. */
const KEEP_ALIVE_MS = 4_000
/** A server that says how long it keeps a connection is taken to close it so much sooner. */
const KEPT_LESS_MS = 2_000

/** For whoever watches when requests leave: `{ path }` of each, right before it is written. */
const departures = channel('laneway:departure')

/** The connection on an open socket. It is `idle` each time that it can take another request, and `gone` once, at its end. */
export function createConnection(socket: Socket, heard: { idle: () => void; gone: () => void }): Connection {
  const reader = createAnswerReader()
  let call: Call | undefined
  let usableUntil = performance.now() + KEEP_ALIVE_MS

  function fail(cause: string): void {
    const failing = call
    call = undefined
    socket.destroy()
    failing?.failed(cause)
  }

  function finish(answer: Answer): void {
    const answered = call
    call = undefined
    const keptMs = Math.min(KEEP_ALIVE_MS, (answer.keptMs ?? Number.POSITIVE_INFINITY) - KEPT_LESS_MS)
    // What the server did not wait for would be the beginning of the next request.
    if (answer.isLast || keptMs <= 0 || socket.writableLength > 0) socket.destroy()
    else {
      usableUntil = performance.now() + keptMs
      heard.idle()
    }
    answered?.answered(answer)
  }

  socket.on('data', (piece: Buffer) => {
    // Nobody asked for it.
    if (call === undefined) return fail('bad_answer')
    let answer: Answer | undefined
    try {
      answer = reader.read(piece)
    } catch (error) {
      return fail(error instanceof AnswerError ? error.code : 'bad_answer')
    }
    if (answer !== undefined) finish(answer)
  })
  socket.on('end', () => {
    const answer = call && reader.end()
    if (answer === undefined) fail('reset')
    else finish(answer)
  })
  socket.on('error', (error) => fail(causeOf(error)))
  socket.on('close', () => {
    fail('reset')
    heard.gone()
  })

  return {
    take(next) {
      if (!socket.writable || !socket.readable || performance.now() >= usableUntil) {
        socket.destroy()
        return false
      }
      const request = next.leave(this)
      if (request === undefined) {
        heard.idle()
        return true
      }
      call = next
      if (departures.hasSubscribers) departures.publish({ path: request.path })
      socket.write(request.text)
      return true
    },
    destroy: () => void socket.destroy(),
    usableUntil: () => usableUntil,
  }
}

/** A short word for what went wrong, safe to log: an error code, never a message that may hold an address or a token. */
export function causeOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return CAUSES[code] ?? code.toLowerCase()
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'name_not_found',
  EAI_AGAIN: 'name_not_found',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
}
