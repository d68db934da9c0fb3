// Keeps a fault of one item of a webhook from harming the others.
import { isRedisAway } from '../../../redis/errors.ts'

/**
 * Awaits the work on one item and adds its error to `errors`. False while Redis is away: the remaining items would fail as
 * well, and the webhook comes again.
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
