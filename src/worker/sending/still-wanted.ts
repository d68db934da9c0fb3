// Checks once more whether claimed messages of a lane may leave: their worker is late, or the lane is slow, and the check made
// before the claim is too old. One check for all of them.
import { cappedUntil } from '../../portfolios/caps.ts'
import { mayLeave } from '../../recipients/campaigns.ts'
import type { SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import type { StillWanted } from './lane-slots.ts'
import { suppressedAmong, wantedUntilOf } from './suppressed.ts'

/**
 * The check of a process. Resolves to until when each of these messages of one lane may leave, in their order. One that may not goes
 * back to its lane, where its claim or the next step finds why: its campaign was paused, its person has had enough marketing, has
 * opted out or was erased. Rejects when Redis is away.
 */
export const secondCheck =
  ({ redis, checks, tombstones }: Pick<SendDeps, 'redis' | 'checks' | 'tombstones'>) =>
  async (messages: readonly Candidate[]): Promise<StillWanted[]> => {
    const [first] = messages
    if (first === undefined) return []
    // By their sender as it was found last: its account may have changed since the others were claimed.
    const latest = messages.reduce((one, each) => (each.until.steadyMs > one.until.steadyMs ? each : one), first)
    const { entry } = latest
    const checkedAt = performance.now()
    const wantedUntil = wantedUntilOf(checks, entry)
    const marketing = messages.filter(({ isMarketing }) => isMarketing)
    const runs = [...new Set(messages.flatMap(({ message: { run } }) => run ?? []))]
    const { lane } = latest.id
    // All in one write. If a person has got another name since, their opt-outs and erasures under it count under these as well.
    const [going, caps, suppressed] = await Promise.all([
      Promise.all(runs.map((number) => mayLeave(redis, { lane, number }))),
      cappedUntil(
        redis,
        entry.rules,
        marketing.map(({ allNames }) => allNames),
      ),
      suppressedAmong({ redis, tombstones }, entry, messages),
    ])
    checks.took(performance.now() - checkedAt)
    const stopped = new Set(runs.filter((_run, i) => !going[i]))
    const capped = new Set(marketing.filter((_each, i) => caps[i] !== undefined))
    return messages.map((each): StillWanted => {
      const { run } = each.message
      if ((run !== undefined && stopped.has(run)) || capped.has(each)) return {}
      const problem = suppressed.get(each)
      return problem ? { problem } : { wantedUntil: wantedUntil(each) }
    })
  }
