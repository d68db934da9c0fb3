// Why a message must not be sent: its recipient has opted out or was erased.
import { type Deadline, deadlineIn } from '../../kernel/deadline.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import { optedOut, personErased } from '../../model/messages/own-problems.ts'
import type { CheckValidity } from '../../people/opt-outs/check-validity.ts'
import { optedOutAmong } from '../../people/opt-outs/opt-outs.ts'
import type { Tombstones } from '../../people/tombstones.ts'
import { isErased } from '../../recipients/snapshot.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Candidate } from './candidate.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/**
 * Whether an opt-out or an erasure can stop this message; if not, nothing needs to be read. People who have opted out get no
 * campaign messages of any kind, and no marketing.
 */
const canBeSuppressed = ({ stopsTransactional }: DirectoryEntry, { message, isMarketing }: Candidate): boolean =>
  isMarketing || stopsTransactional || message.run !== undefined

/** Until when a message may leave that is found wanted by a check that is sent now. */
export function wantedUntilOf(checks: CheckValidity, entry: DirectoryEntry): (message: Candidate) => Deadline {
  const checked = deadlineIn(checks.goodForMs())
  return (message) => (canBeSuppressed(entry, message) ? checked : ALWAYS)
}

const ALWAYS = deadlineIn(Number.POSITIVE_INFINITY)

/**
 * Which messages of one sender must not be sent, and why: the recipient wants no such message or was erased since its campaign
 * began, under any of their names. Checked before they are claimed, and again for a message that leaves after the check has become
 * too old.
 */
export async function suppressedAmong(
  { redis, tombstones }: { redis: Redis; tombstones: Tombstones },
  entry: DirectoryEntry,
  messages: readonly Candidate[],
): Promise<ReadonlyMap<Candidate, Problem>> {
  const { account } = entry.sender
  const suppressible = messages.filter((each) => canBeSuppressed(entry, each))
  const suppressed = new Map<Candidate, Problem>()
  if (suppressible.length === 0) return suppressed
  const erasable = suppressible.filter(({ message }) => message.run !== undefined)
  const [optedOutIndexes] = await Promise.all([
    optedOutAmong(
      redis,
      account,
      suppressible.map(({ allNames }) => allNames),
    ),
    // Since each campaign was made: few were erased at all.
    Promise.all(
      Array.from(bySince(erasable), async ([sinceMs, some]) => {
        const names = some.flatMap(({ allNames }) => allNames)
        const erased = await tombstones.erasedOf(account, names, sinceMs)
        // Usually empty. People erased after the list was made were also removed from the list.
        for (const each of some) {
          if (isErased(each.message) || (erased.size > 0 && each.allNames.some((name) => erased.has(name))))
            suppressed.set(each, personErased)
        }
      }),
    ),
  ])
  for (const index of optedOutIndexes) {
    const each = suppressible[index]
    if (each !== undefined && !suppressed.has(each)) suppressed.set(each, optedOut)
  }
  return suppressed
}

function bySince(messages: readonly Candidate[]): Map<number, Candidate[]> {
  const groups = new Map<number, Candidate[]>()
  for (const each of messages) {
    const since = each.erasedSinceMs
    const some = groups.get(since)
    if (some) some.push(each)
    else groups.set(since, [each])
  }
  return groups
}
