// Learns which names are one person's, and has what was said under one of them hold under all. Told twice, or in another order,
// it comes to the same.
import type { Redis } from '../redis/connect.ts'
import type { Naming } from './names/person.ts'
import { keepNames } from './names/store/names.ts'
import { joinOptOuts } from './opt-outs/store/opt-outs.ts'
import type { Tombstones } from './tombstones.ts'

/** Names that WhatsApp tells as those of one person. */
export interface TaughtNaming extends Naming {
  /** The person wrote, or changed a setting: who was erased comes back that way, and not by a report of an old message. */
  isTheirAct: boolean
}

/**
 * Keeps what is new of it. Rejects with a NotReplicatedError as opt-outs do. Dying in between is harmless: the webhook was not
 * answered and comes again.
 */
export async function learnNames(
  { redis, tombstones }: { redis: Redis; tombstones: Tombstones },
  account: number,
  told: readonly TaughtNaming[],
): Promise<void> {
  const reported = told.filter(({ isTheirAct }) => !isTheirAct).flatMap(({ names }) => names)
  const erased = await tombstones.erasedOf(account, reported, 0)
  const namings = told.filter(({ isTheirAct, names }) => isTheirAct || !names.some((name) => erased.has(name)))
  // Before they are kept, since nobody would look at them again; and after, for what was said meanwhile.
  const people = await keepNames(redis, account, namings, (each) => joinOptOuts(redis, account, each))
  await joinOptOuts(redis, account, people)
}
