// The interfaces between a request, its connection and its writer, and the limits that they share.
import type { Dispatcher } from 'undici'

/** The protocol that requests are written in. */
export type Protocol = 'h1' | 'h2'

/** A POST. */
export interface Request {
  readonly method: 'POST'
  readonly path: string
  /** Name and value by turns. */
  readonly headers: string[]
  readonly body: string
}

/**
 * What writes requests to a connection, and reads their answers: as undici has it, so that its client is one. The handler learns that
 * its request is about to be written (`onRequestStart`), or never does if it is not.
 */
export interface Writer {
  dispatch(request: Request, handler: Dispatcher.DispatchHandler): unknown
}

/** An open connection. */
export interface Connection {
  readonly protocol: Protocol
  /**
   * How many more requests it can take before any of those under way ends; none shortly before it is left for its age.
   */
  readonly room: number
  /** Those under way on it, with those that its writer holds for it. */
  readonly running: number
  /** Carried a request before the one that it carries now. */
  readonly isUsed: boolean
  readonly isOpen: boolean
  /** It can take another one. */
  canTake(): boolean
  /** One that is about to be written holds it, until `giveBack` or `ended`. */
  take(): void
  /** What `take` held it for is not written after all. */
  giveBack(): void
  /** Only for who has taken it. */
  readonly writer: Writer
  /**
   * The call has ended. `isSound`: in a way that says nothing against the connection. It was answered, was never written, or the server
   * refused this request alone. Otherwise the connection takes no more.
   */
  ended(isSound: boolean): void
  /** Takes no more, and is closed once nothing is under way on it. */
  retire(): void
  /** Closes it; requests that are under way fail. */
  destroy(): void
  /** Nobody has used it since (`performance.now()`). */
  idleSince(): number
}

/** Idle ones are closed before the usual 5 s of a server, so that few requests meet a socket that is just being closed. */
export const KEEP_ALIVE_MS = 4_000
/** The head of a provider's answer is under 1 KB. */
export const MAX_HEAD_BYTES = 16 * 1024
/**
 * Streams at once over a connection, at most, and until the server announces how many it takes: RFC 9113 advises servers not
 * to take fewer.
 */
export const STREAMS = 100
