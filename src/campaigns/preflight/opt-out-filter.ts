// Refuses candidates who have opted out, so that the figures of a campaign are right before it starts. Later opt-outs are checked before
// a message is claimed.

import { namesOfPeople } from '../../people/names/names.ts'
import { optedOutAmong } from '../../people/opt-outs/opt-outs.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Candidate } from './recipient-sources.ts'

/** Candidates that are checked together. */
const AT_ONCE = 500

/** The same candidates in their order; those who have opted out are refused. */
export async function* withoutOptedOut(
  redis: Redis,
  account: number,
  candidates: AsyncIterable<Candidate>,
): AsyncGenerator<Candidate> {
  let some: Candidate[] = []
  for await (const candidate of candidates) {
    some.push(candidate)
    if (some.length < AT_ONCE) continue
    yield* judged(redis, account, some)
    some = []
  }
  yield* judged(redis, account, some)
}

async function* judged(redis: Redis, account: number, some: readonly Candidate[]): AsyncGenerator<Candidate> {
  const found = some.filter((each) => each.kind === 'found')
  const to = found.map((each) => each.to)
  const optedOut = await optedOutAmong(redis, account, await namesOfPeople(redis, account, to))
  const refused = new Set<Candidate>([...optedOut].flatMap((at) => found[at] ?? []))
  for (const each of some) {
    if (each.kind !== 'found' || !refused.has(each)) yield each
    else {
      const { where, to: phone } = each
      yield { kind: 'refused', where, phone, reason: 'opted_out', explanation: 'the person wants no advertising' }
    }
  }
}
