// Three worker processes share lanes that are full: the pace is the lane's, not the worker's.
import { recipientsOf } from '../recipients.ts'
import { testimonyAtRest } from '../rest.ts'
import { type Figure, onRig, type Scenario } from '../scenario.ts'

/** What a lane may send too much, in a second that spans a window more than it has: 88 for 80. */
const BURST = 1.1
/** What the chat product may see on top, because requests take differently long. */
const JITTER = 1.15
const WARM_UP_MS = 1_000

export const pace: Scenario = {
  name: 'pace',
  promise:
    'However many workers serve a lane, it keeps its pace: smooth, never above its burst, hardly below its rate.',
  alone: true,
  run: async (run) => {
    const rates = run.full ? [80, 1_000] : [80]
    const seconds = run.full ? 60 : 6
    const tenants = rates.map((rate) => ({ wire: 'cloud-api', policy: 'at_least_once', rate }) as const)
    return onRig(run, { workers: 3, tenants, env: { LANEWAY_LANE_CONCURRENCY: '100' } }, async (rig) => {
      // One lane after the other: two cores cannot show the faster one while they are busy with the other.
      const lists: string[][] = []
      for (const [n, tenant] of rig.tenants.entries()) {
        const recipients = recipientsOf(n, tenant.rate * (seconds + 2))
        lists.push(recipients)
        await rig.client.post(tenant, recipients, Math.max(400, tenant.rate * 1.2))
        run.say(`${recipients.length} posted to the lane of ${tenant.rate}/s`)
      }
      const found = await testimonyAtRest(rig, run, { flagsEarned: 0 })
      const figures = rig.tenants.flatMap(({ rate }, n): Figure[] => {
        const mine = new Set(lists[n])
        const claims = found.messages
          .filter(({ to }) => mine.has(to))
          .flatMap(({ inside }) => inside?.story.filter(({ code }) => code === 'c') ?? [])
          .map(({ atMs }) => atMs)
          .sort((a, b) => a - b)
        const arrivals = found.ledger.flatMap(({ to, atMs }) => (mine.has(to) ? [atMs] : [])).sort((a, b) => a - b)
        const begin = (claims[0] ?? 0) + WARM_UP_MS
        const end = (claims.at(-1) ?? 0) - WARM_UP_MS
        const within = claims.filter((at) => at >= begin && at < end).length
        const per = `of the lane of ${rate}/s`
        return [
          {
            what: `mean pace ${per} over ${Math.round((end - begin) / 1_000)} s`,
            value: (within / (end - begin)) * 1_000,
            unit: 'claims/s',
            // A small run shares the machine with others, and its edges weigh a window of eight each.
            ...(run.full ? { atLeast: rate * 0.9875, atMost: rate } : { atMost: rate * 1.05 }),
          },
          bound(`most claims in any second ${per}`, busiestSecond(claims), rate * BURST, run.full),
          bound(`most arrivals in any second ${per}`, busiestSecond(arrivals), rate * JITTER, run.full),
        ]
      })
      return { judgement: found.judgement, figures }
    })
  },
}

/** A process that is held up by others on its core sends what it was late with: small runs get room for a window more. */
const bound = (what: string, value: number, most: number, full: boolean): Figure => ({
  what,
  value,
  unit: 'messages',
  atMost: full ? most : most * 1.1,
})

/** The most that fall into any span of a second. `times` in order, ms. */
export function busiestSecond(times: readonly number[]): number {
  let most = 0
  let from = 0
  for (const [at, time] of times.entries()) {
    while ((times[from] ?? time) <= time - 1_000) from += 1
    most = Math.max(most, at - from + 1)
  }
  return most
}
