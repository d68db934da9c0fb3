// The lane is set to ten times what the chat product takes, which refuses the rest with 429 and Retry-After.
import { recipientsOf } from '../recipients.ts'
import { testimonyAtRest } from '../rest.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'

/** The simulator's Retry-After. */
const RETRY_AFTER_MS = 1_000
/** A refusal has to travel from the process that met it to the others by way of Redis. */
const SPREADS_WITHIN_MS = 150

export const storm429: Scenario = {
  name: 'storm-429',
  promise: 'A throttled lane sends nothing inside a Retry-After, gives nothing up, and keeps no message twice.',
  run: (run) => {
    const limit = run.full ? 200 : 60
    const plan = { workers: 3, tenants: [{ wire: 'cloud-api', policy: 'must_arrive', rate: 10 * limit }] } as const
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
      const { judgement } = await testimonyAtRest(rig, run, { flagsEarned: 0 })
      const spread = timeLimit(run, SPREADS_WITHIN_MS)
      const inside = requestsAt.filter((at) =>
        refusalsAt.some((refusedAt) => at > refusedAt + spread && at < refusedAt + RETRY_AFTER_MS),
      )
      return {
        judgement,
        figures: [
          { what: 'refusals', value: refusalsAt.length, unit: 'answers 429', atLeast: 1 },
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
