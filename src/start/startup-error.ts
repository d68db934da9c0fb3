// Which errors of a start are a sentence for the person at the terminal, and which are ours and need their stack.
import { ConfigError } from '../config.ts'
import { UnsafeRedisError } from '../redis/safety.ts'
import { StartError } from './start-error.ts'

/** The sentence to print, or undefined for an unexpected error. */
export function startupErrorMessage(error: unknown): string | undefined {
  // ListenError is the producer's; by name, so that a worker process does not load the producer for it.
  const isExpected = error instanceof ConfigError || error instanceof StartError || error instanceof UnsafeRedisError
  if (isExpected || (error instanceof Error && error.name === 'ListenError')) return error.message
  return undefined
}
