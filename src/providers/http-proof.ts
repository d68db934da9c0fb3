// Whether it is proven that nothing of a failed request left. Error codes alone prove nothing: of 84 requests that ended in
// a reset, 38 had never reached the server. What counts is how far a request had come.

/** The server ended this one stream of HTTP/2, or has not processed it: its own words about it (http-writers.ts). */
export class StreamError extends Error {
  override name = 'StreamError'
  readonly isUnprocessed: boolean
  readonly code: 'refused_stream' | 'reset'

  constructor(how: 'ended' | 'unprocessed') {
    super(how)
    this.isUnprocessed = how === 'unprocessed'
    this.code = this.isUnprocessed ? 'refused_stream' : 'reset'
  }
}

/** How a request failed. */
interface Failure {
  /** What writes it said that it writes it now. */
  isStarted: boolean
  /** The head of an answer has come. */
  isAnswered: boolean
  /** Undefined for a request that we broke off ourselves. */
  error: Error | undefined
}

/**
 * Whether it is proven that the provider has nothing of the request. Nothing else is taken for proof:
 *
 * - Nothing was written: `onRequestStart` is called right before (undici's client-h1.js, writeH1, and http-writers.ts). So
 *   there was no connection, or it ended, or we ended the request, while it was held back.
 * - REFUSED_STREAM, or a frame that Node has not written: the server has not processed it (RFC 9113, 8.7).
 */
export const neverLeft = ({ isStarted, isAnswered, error }: Failure): boolean =>
  !isStarted || (!isAnswered && error instanceof StreamError && error.isUnprocessed)

/** Whether the error does not concern the connection, so that others go on over it. */
export const isOfStream = (error: Error): boolean => error instanceof StreamError
