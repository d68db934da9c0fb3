// How a call of the client can fail.
import type { Refusal } from './types.ts'

/** What every error of the client is. Anything else that is thrown is a defect. */
export abstract class LanewayError extends Error {
  /** Snake case; for a refusal the same as over HTTP. */
  abstract readonly code: string

  /** `message` is no own property of an Error that JSON.stringify would see. */
  toJSON(): object {
    const { name, code, message } = this
    return { name, code, message }
  }
}

/**
 * The call was refused: `message` gives the reason, `details` names every field at fault. A repeat is refused too, unless
 * `code` is `rate_limited` or one of `too_many_…`: then there is too much at present.
 */
export class LanewayRefused extends LanewayError {
  override name = 'LanewayRefused'
  readonly code: string
  readonly details: Refusal['details']

  constructor({ code, message, details }: Refusal) {
    super(message)
    this.code = code
    this.details = details
  }

  override toJSON(): object {
    return { ...super.toJSON(), details: this.details }
  }
}

/**
 * No answer in time. The request may have been done already, or may still be. Repeat it with the same idempotency key to
 * learn the result: nothing is done twice.
 */
export class LanewayTimeout extends LanewayError {
  override name = 'LanewayTimeout'
  readonly code = 'timeout'
}

/** Redis or the service cannot be reached, or the client was closed. Otherwise as for LanewayTimeout. */
export class LanewayUnavailable extends LanewayError {
  override name = 'LanewayUnavailable'
  readonly code = 'unavailable'
}

/** A defect of the service or of a proxy before it: an answer that docs/reference/jobs.md does not allow. */
export const notAsPromised = (job: string): Error => new Error(`The answer to "${job}" is not what it must be.`)
