// Why a message must not be sent: its recipient has opted out or was erased.
import { type Deadline, deadlineIn } from '../../kernel/deadline.ts'
import { acceptedAtMs, type MessageId } from '../../kernel/message-id.ts'
import type { NewMessage } from '../../lanes/messages/new-message.ts'
import { optedOut, type Problem, personErased } from '../../model/messages/outcome.ts'
import type { Names } from '../../model/people/person.ts'
import { LOOK_GOOD_FOR_MS } from '../../people/opt-outs/opt-out-hold.ts'
import { optedOutAmong } from '../../people/opt-outs/opt-outs.ts'
import type { Tombstones } from '../../people/tombstones.ts'
import type { Redis } from '../../redis/connect.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** A message, and whether it belongs to a campaign. */
interface Asked {
  id: MessageId
  message: Pick<NewMessage, 'run'>
}

/**
 * Whether an opt-out or an erasure can stop this message; if not, nothing needs to be read. People who have opted out get no
 * campaign messages of any kind, and no marketing.
 */
const isAsked = ({ stopsTransactional }: DirectoryEntry, { run }: Asked['message'], isMarketing: boolean): boolean =>
  isMarketing || stopsTransactional || run !== undefined

/** Until when a message may leave that is found wanted now. */
export const wantedUntilOf = (entry: DirectoryEntry, message: Asked['message'], isMarketing: boolean): Deadline =>
  deadlineIn(isAsked(entry, message, isMarketing) ? LOOK_GOOD_FOR_MS : Number.POSITIVE_INFINITY)

/**
 * Which messages of one sender must not be sent, by their index, and why: the recipient wants no such message or was erased
 * since its campaign began, under any of their names. Checked before they are claimed, and again for a message that leaves
 * after the check has become too old.
 */
export async function suppressedAmong<M extends Asked>(
  { redis, tombstones }: { redis: Redis; tombstones: Tombstones },
  entry: DirectoryEntry,
  messages: readonly M[],
  marketing: ReadonlySet<M>,
  names: readonly Names[],
): Promise<ReadonlyMap<number, Problem>> {
  const { account } = entry.sender
  const suppressed = new Map<number, Problem>()
  const asked = messages.flatMap((each, i) => (isAsked(entry, each.message, marketing.has(each)) ? [i] : []))
  if (asked.length === 0) return suppressed
  const erasable = asked.filter((i) => messages[i]?.message.run !== undefined)
  const namesOf = (i: number): Names => names[i] ?? []
  const [optedOutPlaces] = await Promise.all([
    optedOutAmong(redis, account, asked.map(namesOf)),
    // Each since its own campaign was made: few were erased at all.
    Promise.all(
      erasable.map(async (i) => {
        const { id, message } = messages[i] ?? {}
        if (!id || !message) return
        const sinceMs = acceptedAtMs(id.ulid)
        if ((await tombstones.erasedOf(account, namesOf(i), sinceMs)).size > 0) suppressed.set(i, personErased)
      }),
    ),
  ])
  for (const place of optedOutPlaces) {
    const i = asked[place]
    if (i !== undefined && !suppressed.has(i)) suppressed.set(i, optedOut)
  }
  return suppressed
}
