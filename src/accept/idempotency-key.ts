// The Idempotency-Key of a request: its rules, the same for one message and for a batch.
import { invalidFields, Refusal } from './refusal.ts'

const MAX_LENGTH = 255

/** The client's key, or undefined when it brought none; a Refusal when it is too long. */
export function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined
  if (key.length > MAX_LENGTH) {
    throw invalidFields([{ path: 'Idempotency-Key', message: `at most ${MAX_LENGTH} characters, got ${key.length}` }])
  }
  return key
}

/** A Refusal unless the key came with this very body before. */
export function refuseOtherBody(earlier: { digest: string }, digest: string): void {
  if (earlier.digest === digest) return
  const sentence = 'This Idempotency-Key was used with another body; use a new key for a new message.'
  throw new Refusal('conflict', 'idempotency_key_reused', sentence)
}
