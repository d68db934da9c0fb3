// Why something that was asked for is not accepted, as data: the same over HTTP and through the intake queue.
import type { Fault } from '../messages/fault.ts'

/** `conflict` is a repeat that contradicts what came first; everything else is `invalid`. */
export class Refusal extends Error {
  override name = 'Refusal'
  readonly kind: 'invalid' | 'conflict'
  /** Snake case, as in the error answers. */
  readonly code: string
  readonly faults: readonly Fault[]

  constructor(kind: 'invalid' | 'conflict', code: string, message: string, faults: readonly Fault[] = []) {
    super(message)
    this.kind = kind
    this.code = code
    this.faults = faults
  }
}

/** A refusal that lists every fault; its sentence names the first. */
export const invalidFields = (faults: readonly Fault[], code = 'invalid_request'): Refusal =>
  new Refusal('invalid', code, sentenceOf(faults), faults)

/** One sentence for several faults. */
export function sentenceOf(faults: readonly Fault[]): string {
  const [first] = faults
  if (!first) return 'The request is not valid.'
  const more = faults.length > 1 ? ` (and ${faults.length - 1} more, see details)` : ''
  return `${first.path === '' ? '' : `${first.path}: `}${first.message}${more}.`
}
