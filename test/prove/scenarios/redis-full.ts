// Redis is full for some seconds: it refuses every write that takes memory. Nothing may be sent that could not be
// written down before, what is in flight must be settled all the same, and what waits must go on waiting.
import { answers500 } from '../client.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'
import { pause } from '../wait.ts'

/** Less than an empty Redis takes. */
const FULL_BYTES = '1000000'

export const redisFull: Scenario = {
  name: 'redis-full',
  promise:
    'While Redis is full nothing is sent that is not written down, and everything is sent once it has room again.',
  run: (run) =>
    onRig(
      run,
      {
        workers: 2,
        tenants: [
          // On this wire no evidence would correct a settling that was refused.
          { wire: 'partner-api', policy: 'at_least_once', rate: 80 },
          { wire: 'cloud-api', policy: 'at_most_once', rate: 80, campaign: true },
        ],
      },
      async (rig) => {
        rig.providerLine.delayReplies(100, 400)
        const each = run.full ? 2_500 : 250
        const posting = rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, each), 120))
        const rounds = run.full ? 5 : 1
        await rig.chatProduct.hasTaken(20)
        let roomAt = 0
        for (let round = 0; round < rounds; round += 1) {
          await pause(run.random.between(500, 1_000))
          await rig.store.config('SET', 'maxmemory', FULL_BYTES)
          await pause(3_000)
          await rig.store.config('SET', 'maxmemory', '0')
          roomAt = Date.now()
        }
        await Promise.all(posting)
        const refused = rig.client.log.flatMap(({ answers }) => answers).filter(({ status }) => status === 503).length
        run.say(`${rig.client.acknowledged()} accepted, ${refused} requests refused while full`)
        const { judgement, ledger } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
        const recoveryMs = Math.min(...ledger.map(({ atMs }) => atMs).filter((atMs) => atMs > roomAt)) - roomAt
        return {
          judgement,
          recoveryMs,
          figures: [
            answers500(rig.client.log),
            { what: 'requests refused while full', value: refused, unit: 'requests', atLeast: 1 },
            { what: 'sending again after', value: recoveryMs, unit: 'ms', atMost: timeLimit(run, 15_000) },
            { what: 'accepted but not sent', value: judgement.accepted - ledger.length, unit: 'messages', atMost: 0 },
          ],
        }
      },
    ),
}
