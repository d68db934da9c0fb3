// Why a request is not accepted, as data: the same over HTTP and through the intake queue.

import type { Fault } from './fault.ts'

/** A limit that a request reached. */
export type Limit =
  | 'key_rate'
  | 'account_rate'
  | 'address_rate'
  | 'waiting'
  | 'drafts'
  | 'rows_bytes'
  | 'gallery_bytes'
  | 'contacts'
  | 'disk_reserve'
  | 'memory_reserve'

/**
 * `unauthorized`: the key cannot be used. `forbidden`: it lacks the permission. `not_found`: the account has no such thing.
 * `conflict`: a repeat differs from the first request. `overtaken`: somebody else has changed it meanwhile. `in_the_way`:
 * something else must be removed first. `too_many`: it may be tried later. `invalid`: everything else.
 */
export type RefusalKind =
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'overtaken'
  | 'in_the_way'
  | 'too_many'

/**
 * The refusal of a request. `message` is one sentence for a person; `faults` name the fields at fault, at most 100.
 */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly kind: RefusalKind
  /** Snake case, as in the error answers. */
  readonly code: string
  readonly faults: readonly Fault[]
  /** When it may be tried again, where that is known. */
  readonly retryAfterSeconds: number | undefined

  constructor(
    kind: RefusalKind,
    code: string,
    message: string,
    faults: readonly Fault[] = [],
    retryAfterSeconds?: number,
  ) {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
    this.kind = kind
    this.code = code
    this.faults = faults
  }
}

/** A file that cannot be used as a whole; `message` names where and why. */
export const refusedFile = (message: string): Refusal =>
  new Refusal('invalid', 'invalid_request', `${message.replace(/\.$/, '')}.`, [{ path: '', message }])

/** The code of a refusal; undefined for any other error. */
export const refusalCodeOf = (error: unknown): string | undefined => (error instanceof Refusal ? error.code : undefined)

/** Most faults listed for one request: 60,000 wrong buttons in 256 KB were answered with 8 MB. */
export const FAULTS_MAX = 100

/** A refusal that lists the faults; its sentence names the first and how many there are. */
export const invalidFields = (faults: readonly Fault[], code = 'invalid_request'): Refusal =>
  new Refusal('invalid', code, sentenceOf(faults), faults.slice(0, FAULTS_MAX))

/** What does not exist, or belongs to another account: the answer must be the same for both. */
export const doesNotExist = (what: string): Refusal => new Refusal('not_found', 'not_found', `${what} does not exist.`)

/** An internal failure of one of several items: the others are done all the same, and the log has the cause. */
export const ownFault = (): Refusal =>
  new Refusal('invalid', 'internal', 'Something went wrong on our side; see the log.')

/** One sentence for several faults. */
export function sentenceOf(faults: readonly Fault[]): string {
  const [first] = faults
  if (!first) return 'The request is not valid.'
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : ''
  return ended(`${first.path === '' ? '' : `${first.path}: `}${first.message}${more}`)
}

/** The text as a sentence: with a full stop, unless it is a question. */
export const ended = (text: string): string => (text.endsWith('?') ? text : `${text}.`)

/** Without `rate_limited`: its error has whose rate it was. */
export const LIMIT_OF_CODE: ReadonlyMap<string, Limit> = new Map([
  ['too_many_waiting', 'waiting'],
  ['too_many_drafts', 'drafts'],
  ['rows_full', 'rows_bytes'],
  ['gallery_full', 'gallery_bytes'],
  ['too_many_contacts', 'contacts'],
  ['disk_reserve', 'disk_reserve'],
  ['memory_reserve', 'memory_reserve'],
])
