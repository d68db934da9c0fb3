// Learns which names are one person's, and has what was said under one of them hold under all. Told twice, or in another order,
// it comes to the same.
import { withForms } from '../kernel/national-forms.ts'
import type { Naming } from '../model/people/person.ts'
import { keepNames } from '../people/names/names.ts'
import { joinOptOuts } from '../people/opt-outs/opt-outs.ts'
import type { Tombstones } from '../people/tombstones.ts'
import type { Redis } from '../redis/connect.ts'

/** Names that WhatsApp tells as those of one person. */
export interface TaughtNaming extends Naming {
  /**
   * Whoever was erased since then (epoch ms) is not known by it: of a report when its message was accepted, else when the
   * person wrote, or changed a setting. They come back that way, but not by a webhook from before that is repeated. `now` where
   * that time is not known.
   */
  asOf: number | 'now'
}

/**
 * Keeps what is new of it, and returns those that it has heeded. Rejects with a NotReplicatedError as opt-outs do. Dying in
 * between is harmless: the webhook was not answered and comes again.
 */
export async function learnNames(
  { redis, tombstones }: { redis: Redis; tombstones: Tombstones },
  account: number,
  told: readonly TaughtNaming[],
): Promise<readonly TaughtNaming[]> {
  const reported = told.filter(({ asOf }) => asOf !== 'now').flatMap(({ names }) => withForms(names))
  const erased = await tombstones.erasedOf(account, reported, 0)
  const heeded: TaughtNaming[] = []
  for (const each of told) {
    const { asOf } = each
    const names = withForms(each.names)
    const isDoubtful = asOf !== 'now' && names.some((name) => erased.has(name))
    if (!isDoubtful || (await tombstones.erasedOf(account, names, asOf)).size === 0) heeded.push(each)
  }
  // Before they are kept, since nobody would look at them again; and after, for what was said meanwhile.
  const people = await keepNames(redis, account, heeded, (each) => joinOptOuts(redis, account, each))
  await joinOptOuts(redis, account, people)
  return heeded
}
