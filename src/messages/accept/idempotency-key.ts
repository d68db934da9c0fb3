// The Idempotency-Key of a request: its rules, the same for one message and for a batch.
import { IDEMPOTENCY_KEY_MAX } from './body-limits.ts'
import { invalidFields, Refusal } from './refusal.ts'

/** The client's key, or undefined when it brought none; a Refusal when it is too long. */
export function checkedKey(key: string | undefined): string | undefined {
  if (key === undefined || key === '') return undefined
  if (key.length > IDEMPOTENCY_KEY_MAX) {
    const message = `at most ${IDEMPOTENCY_KEY_MAX} characters, got ${key.length}`
    throw invalidFields([{ path: 'Idempotency-Key', message }])
  }
  return key
}

/** A Refusal unless the key came with this very body before. */
export function refuseOtherBody(earlier: { digest: string }, digest: string): void {
  if (earlier.digest === digest) return
  const sentence = 'This Idempotency-Key was used with another body; use a new key for a new message.'
  throw new Refusal('conflict', 'idempotency_key_reused', sentence)
}
