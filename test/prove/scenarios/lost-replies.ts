// Redis does what it is told, but now and then its reply is lost with the connection: the caller cannot know. Workers
// send such commands again, producers answer 503 and are asked again.
import { answers500 } from '../client.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { bothPolicies } from './worker-kill.ts'

export const lostReplies: Scenario = {
  name: 'lost-replies',
  promise: 'Commands that Redis carried out although their reply was lost are not carried out twice.',
  run: (run) =>
    onRig(run, { workers: 2, producers: 1, redisProxy: true, tenants: bothPolicies('cloud-api') }, async (rig) => {
      rig.providerLine.delayReplies(20, 120)
      rig.redisLine.swallowReplies(0.015)
      const each = run.full ? 5_000 : 250
      await Promise.all(
        rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, each), run.full ? 100 : 50)),
      )
      run.say(`${rig.client.acknowledged()} accepted, ${rig.redisLine.swallowed()} replies lost`)
      rig.redisLine.swallowReplies(0)
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const lost = { what: 'replies of Redis lost', value: rig.redisLine.swallowed(), unit: 'replies', atLeast: 1 }
      return { judgement, figures: [lost, answers500(rig.client.log)] }
    }),
}
