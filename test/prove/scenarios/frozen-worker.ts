// A worker is stopped in mid-step, as a pause of its virtual machine does, for so long that others have taken up and
// decided its messages; then it wakes up and goes on as if nothing had happened.

import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'
import { bothPolicies, impatient } from './worker-kill.ts'

/** Longer than locks, the sweep's patience and the wait for evidence together. */
const FROZEN_MS = 18_000

export const frozenWorker: Scenario = {
  name: 'frozen-worker',
  promise: 'A worker that wakes up late sends nothing that others decided meanwhile, and overwrites nothing.',
  run: (run) =>
    onRig(run, { workers: 2, tenants: bothPolicies('cloud-api'), env: impatient(run) }, async (rig) => {
      rig.providerLine.delayReplies(20, 200)
      const each = run.full ? 5_000 : 250
      const perSecond = run.full ? 40 : 60
      const posting = rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, each), perSecond))
      const random = run.random.fork('freezes')
      const freezes = run.full ? 5 : 1
      await rig.chatProduct.hasTaken(20)
      for (let freeze = 0; freeze < freezes; freeze += 1) {
        await pause(random.between(500, 2_000))
        const victim = random.pick(rig.workers)
        victim.freeze()
        run.say(`${victim.name} frozen`)
        await pause(FROZEN_MS)
        victim.wake()
      }
      await Promise.all(posting)
      const flagsEarned = freezes * CONCURRENCY * rig.tenants.length
      const { judgement, posted, messages } = await testimonyAtQuiescence(rig, run, { flagsEarned })
      const twice = new Set(judgement.sentTwice)
      const repeated = posted.filter(({ to, tenant }) => tenant.policy === 'at_most_once' && twice.has(to)).length
      const doubted = messages.filter(({ inside }) => inside?.history.some(({ code }) => code === 'h' || code === 'l'))
      return {
        judgement,
        figures: [
          { what: 'at_most_once sent twice', value: repeated, unit: 'messages', atMost: 0 },
          { what: 'in doubt for a while', value: doubted.length, unit: 'messages' },
        ],
      }
    }),
}
