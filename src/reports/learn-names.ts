// Learns which names belong to one person, and merges the opt-outs of all of them. Idempotent and order-independent.
import { withForms } from '../kernel/national-forms.ts'
import type { Naming } from '../model/people/person.ts'
import { keepNames } from '../people/names/names.ts'
import { joinOptOuts } from '../people/opt-outs/opt-outs.ts'
import type { Tombstones } from '../people/tombstones.ts'
import type { Redis } from '../redis/connect.ts'

/** Names that WhatsApp reports as those of one person. */
export interface DatedNaming extends Naming {
  /**
   * The naming is ignored for anybody erased after this time (epoch ms): for a report, when its message was accepted, else when the person
   * wrote, or changed a setting, a number or a user id. So an erased person who writes again is known again, but not by a repeated old
   * webhook. `now` where that time is unknown.
   */
  asOf: number | 'now'
}

/**
 * Keeps what is new, and returns the namings that it applied. Rejects with a NotReplicatedError as opt-outs do. Dying in
 * between is harmless: the webhook was not answered and comes again.
 */
export async function learnNames(
  { redis, tombstones }: { redis: Redis; tombstones: Tombstones },
  account: number,
  namings: readonly DatedNaming[],
): Promise<readonly DatedNaming[]> {
  const reported = namings.filter(({ asOf }) => asOf !== 'now').flatMap(namesIn)
  const erased = await tombstones.erasedOf(account, reported, 0)
  const learned: DatedNaming[] = []
  for (const each of namings) {
    const { asOf } = each
    const names = namesIn(each)
    const isDoubtful = asOf !== 'now' && names.some((name) => erased.has(name))
    if (!isDoubtful || (await tombstones.erasedOf(account, names, asOf)).size === 0) learned.push(each)
  }
  // Before they are stored, since nothing would join them later; and after, for opt-outs that came meanwhile.
  const people = await keepNames(redis, account, learned, (each) => joinOptOuts(redis, account, each))
  await joinOptOuts(redis, account, people)
  return learned
}

/** All names of a naming: after an erasure, the one before a change may be the only one that is known as erased. */
const namesIn = ({ names, before }: Naming): readonly string[] =>
  withForms(before === undefined ? names : [...names, before])
