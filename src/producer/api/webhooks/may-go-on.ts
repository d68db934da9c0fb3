// Keeps a fault of one item of a webhook from harming the others.
import { isRedisAway } from '../../../redis/errors.ts'

/**
 * Waits for the work on one item and puts its error among those of the others. False while Redis is away: the items that are
 * left would meet the same, and the webhook comes again.
 */
export async function mayGoOn(work: Promise<unknown>, errors: unknown[]): Promise<boolean> {
  try {
    await work
    return true
  } catch (error) {
    errors.push(error)
    return !isRedisAway(error)
  }
}
