// Checks once more whether claimed messages of a lane may leave: their worker is late, or the lane is slow, and the check made
// before the claim is too old. One check for all of them.

import type { Names } from '../../model/people/person.ts'
import { cappedUntil } from '../../portfolios/rules.ts'
import { mayLeave } from '../../recipients/campaigns.ts'
import type { Outgoing, SendDeps } from './attempt.ts'
import type { Asked, StillWanted } from './lane-slots.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import { suppressedAmong, wantedUntilOf } from './suppressed.ts'

/**
 * Until when each may leave, in their order. A message that may not goes back to its lane, where its claim or the next step
 * finds why: its campaign was paused, its person has had enough marketing, has opted out or was erased. Rejects when Redis is
 * away.
 */
export async function stillWanted(
  deps: SendDeps,
  entry: DirectoryEntry,
  asked: readonly Asked<Outgoing>[],
): Promise<StillWanted[]> {
  const { redis } = deps
  const messages = asked.map(({ message }) => message)
  const wantedUntil = asked.map(({ message, isMarketing }) => wantedUntilOf(entry, message.message, isMarketing))
  // If a person has got another name since, their opt-outs and erasures under it count under these as well.
  const names = messages.map(({ names, message }): Names => names ?? [message.to])
  const marketing = asked.flatMap(({ isMarketing }, i) => (isMarketing ? [i] : []))
  const isMarketing = new Set(marketing.flatMap((i) => messages[i] ?? []))
  const runs = [...new Set(messages.flatMap(({ message: { run } }) => run ?? []))]
  const lane = messages[0]?.id.lane ?? 0
  // All in one write.
  const [going, caps, suppressed] = await Promise.all([
    Promise.all(runs.map((number) => mayLeave(redis, { lane, number }))),
    cappedUntil(
      redis,
      entry.rules,
      marketing.map((i) => names[i] ?? []),
    ),
    suppressedAmong(deps, entry, messages, isMarketing, names),
  ])
  const stopped = new Set(runs.filter((_run, i) => !going[i]))
  const capped = new Set(marketing.filter((_place, i) => caps[i] !== undefined))
  return messages.map(({ message: { run } }, i): StillWanted => {
    if ((run !== undefined && stopped.has(run)) || capped.has(i)) return {}
    const problem = suppressed.get(i)
    const until = wantedUntil[i]
    return problem || !until ? { problem } : { wantedUntil: until }
  })
}
