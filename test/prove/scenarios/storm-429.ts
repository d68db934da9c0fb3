// The lane is set to ten times what WhatsApp takes, which refuses the rest with 429 and Retry-After.
//
// Two things are looked at. A claim after a refusal was written down is our fault on any machine, and told exactly by
// one clock, that of Redis. What a request on the line is depends on the machine as well: those that had been claimed
// cannot be called back, and a worker that gets no processor is late to write them, and to read the refusal.

import { type KnownMessage, testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

/** The simulator's Retry-After. */
const RETRY_AFTER_MS = 1_000
/** A refusal has to travel from the process that met it to Redis, and what was claimed before that onto the line. */
const SPREADS_WITHIN_MS = 500

export const storm429: Scenario = {
  name: 'storm-429',
  promise: 'A throttled lane sends nothing inside a Retry-After, gives nothing up, and keeps no message twice.',
  run: (run) => {
    const limit = run.full ? 200 : 60
    const plan = { workers: 3, tenants: [{ wire: 'cloud-api', policy: 'at_least_once', rate: 10 * limit }] } as const
    return onRig(run, plan, async (rig) => {
      const { tenant } = rig
      await rig.chatProduct.control({ throughput: limit })
      const requestsAt: number[] = []
      const refusalsAt: number[] = []
      rig.providerLine.observe({
        request: (head) => head.startsWith('POST ') && requestsAt.push(performance.now()),
        reply: (head) => head.startsWith('HTTP/1.1 429') && refusalsAt.push(performance.now()),
      })
      await rig.client.post(tenant, recipientsOf(0, run.full ? 10_000 : 500), run.full ? 1_000 : 400)
      const { judgement, messages } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const inside = requestsAt.filter((at) =>
        refusalsAt.some((refusedAt) => at > refusedAt + SPREADS_WITHIN_MS && at < refusedAt + RETRY_AFTER_MS),
      )
      return {
        judgement,
        figures: [
          { what: 'refusals', value: refusalsAt.length, unit: 'answers 429', atLeast: 1 },
          { what: 'claims inside a Retry-After', value: claimsInside(messages), unit: 'claims', atMost: 0 },
          // On a crowded machine a refusal spreads late. A lane that minds none sends thousands.
          { what: 'requests inside a Retry-After', value: inside.length, unit: 'requests', atMost: run.full ? 0 : 100 },
          {
            what: 'accepted but not sent',
            value: judgement.accepted - judgement.inLedger,
            unit: 'messages',
            atMost: 0,
          },
        ],
      }
    })
  },
}

/** WhatsApp's code for more requests than a number may send. A late worker gives messages back as well, which holds up nobody. */
const TOO_MANY = '130429'

/** Claims between a refusal that was written down and the end of its Retry-After, by the clock of Redis. */
function claimsInside(messages: readonly KnownMessage[]): number {
  const happened = messages.flatMap(({ inside }) => inside?.history ?? [])
  const refusals = happened.filter(({ code, detail }) => code === 'u' && detail === TOO_MANY).map(({ atMs }) => atMs)
  const claims = happened.filter(({ code }) => code === 'c').map(({ atMs }) => atMs)
  // In the millisecond of the refusal either may have been first.
  return claims.filter((at) => refusals.some((refusedAt) => at > refusedAt && at < refusedAt + RETRY_AFTER_MS)).length
}
