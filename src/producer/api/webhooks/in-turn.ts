// Works through items of a webhook one after the other, so that a fault of one harms no other.
import { isRedisAway } from '../../../redis/errors.ts'

/** Resolves to the errors. While Redis is away the rest is left: it would meet the same, and the webhook comes again. */
export async function inTurn<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<unknown[]> {
  const errors: unknown[] = []
  for (const item of items) {
    try {
      await work(item)
    } catch (error) {
      errors.push(error)
      if (isRedisAway(error)) return errors
    }
  }
  return errors
}
