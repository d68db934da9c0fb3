// Whose data a Redis holds. Each installation has a name of its own in Redis. A part that has worked with one and then finds
// none, or another's, has lost its data for the moment: a volume that is not mounted, an address that leads elsewhere.
// What it does not find then proves nothing, and what it would answer "unknown" to is answered "not now": clients and
// WhatsApp repeat after that, and give up after the other.
import { randomUUID } from 'node:crypto'
import type { Redis } from './connect.ts'
import { RedisUnavailableError } from './errors.ts'
import { rootKeys } from './keys.ts'
import { defineScript } from './lua.ts'

/** Redis answers, but without the data that this process has worked with. */
export class OtherInstallationError extends RedisUnavailableError {
  override name = 'OtherInstallationError'
}

const nameScript = defineScript(import.meta.url, 'name-installation')

/** Gives the installation its name, unless it has one. Every part does so at its start. Works on a full Redis. */
export async function nameInstallation(redis: Redis): Promise<void> {
  await nameScript(redis, { installation: rootKeys.installation }, { name: randomUUID() })
}

/** What was found through each connection. */
const known = new WeakMap<Redis, string>()

/**
 * Rejects with an OtherInstallationError when Redis holds another installation than before, or none. Before means the first
 * look that found an account: without one there is nothing to lose, and an empty Redis may yet become the right one.
 */
export async function assertSameInstallation(redis: Redis): Promise<void> {
  const before = known.get(redis)
  if (before === undefined) {
    const [name, accounts] = await Promise.all([redis.get(rootKeys.installation), redis.scard(rootKeys.accounts)])
    if (name !== null && accounts > 0) known.set(redis, name)
    return
  }
  const now = await redis.get(rootKeys.installation)
  if (now === before) return
  throw new OtherInstallationError(
    now === null
      ? 'Redis no longer holds the data that this part has worked with'
      : 'Redis holds the data of another installation than the one that this part has worked with',
  )
}

/**
 * Rejects with an OtherInstallationError when the lane of a message of ours was never given out here: this Redis is not
 * the one that the message was accepted with.
 */
export async function assertGaveOutLane(redis: Redis, lane: number): Promise<void> {
  const last = Number((await redis.hget(rootKeys.sequences, 'lane')) ?? 0)
  if (last < lane)
    throw new OtherInstallationError('Redis does not hold the data of a message that this installation sent')
}
