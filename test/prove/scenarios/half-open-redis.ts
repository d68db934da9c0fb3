// The connections to Redis go half open, as behind a firewall that forgot them: not a byte comes any more and nobody
// says so. New connections work.
import { answers500 } from '../client.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'
import { pause } from '../wait.ts'
import { firstAcceptedAfter } from './redis-kill.ts'
import { bothPolicies } from './worker-kill.ts'

/** What was under way when the line went dead arrives within this time. */
const UNDER_WAY_MS = 1_000

export const halfOpenRedis: Scenario = {
  name: 'half-open-redis',
  promise: 'After connections to Redis went half open, all processes are back to work by themselves.',
  run: (run) =>
    onRig(run, { workers: 2, producers: 1, redisProxy: true, tenants: bothPolicies('cloud-api') }, async (rig) => {
      rig.providerLine.delayReplies(20, 120)
      const each = run.full ? 2_000 : 250
      const perSecond = each / 5
      const posting = rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, each), perSecond))
      await rig.chatProduct.hasTaken(50)
      await pause(run.random.between(0, 1_000))
      rig.redisLine.freezeAll()
      const frozenAt = Date.now()
      await Promise.all(posting)
      const flagsEarned = rig.workers.length * CONCURRENCY * rig.tenants.length
      const { judgement, ledger } = await testimonyAtQuiescence(rig, run, { flagsEarned })
      const acceptingMs = firstAcceptedAfter(rig.client.log, frozenAt + UNDER_WAY_MS) - frozenAt
      const sentLater = ledger.map(({ atMs }) => atMs).filter((atMs) => atMs > frozenAt + UNDER_WAY_MS)
      const recoveryMs = Math.min(...sentLater) - frozenAt
      return {
        judgement,
        recoveryMs,
        figures: [
          answers500(rig.client.log),
          { what: 'accepting again after', value: acceptingMs, unit: 'ms', atMost: timeLimit(run, 20_000) },
          { what: 'sending again after', value: recoveryMs, unit: 'ms', atMost: timeLimit(run, 20_000) },
        ],
      }
    }),
}
