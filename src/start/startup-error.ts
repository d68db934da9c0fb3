// Which errors of a start are a sentence for the person at the terminal, and which are ours and need their stack.
import { SecretKeyError } from '../accounts/secret-key.ts'
import { ConfigError } from '../config.ts'
import { DataKeyError } from '../messages/sealed.ts'
import { UnsafeRedisError } from '../redis/safety.ts'
import { StartError } from './start-error.ts'

/** The sentence to print, or undefined for an unexpected error. */
export function startupErrorMessage(error: unknown): string | undefined {
  const isExpected = [ConfigError, StartError, UnsafeRedisError, SecretKeyError, DataKeyError].some(
    (kind) => error instanceof kind,
  )
  // ListenError is the producer's; by name, so that a worker process does not load the producer for it.
  if (error instanceof Error && (isExpected || error.name === 'ListenError')) return error.message
  return undefined
}
