// The answer to a message is lost, and no webhook tells that it went out. Its policy repeats it, and the repeat is
// refused for good: that says nothing about the first one, so nobody may be told that the message failed.

import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

const DOUBTFUL = 40

export const refusedRepeat: Scenario = {
  name: 'refused-repeat',
  promise: 'A message whose repeat is refused is not called failed when its first attempt may have gone out.',
  run: (run) =>
    onRig(run, { workers: 1, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      rig.providerLine.spareOthers()
      const recipients = recipientsOf(0, 500)
      const first = recipients.slice(0, 3 * DOUBTFUL)
      // One in three: answers lost one after the other would be an outage, which the lane waits out.
      const doubtful = first.filter((_to, i) => i % 3 === 0)
      const draw = (to: string, behaviour: string) => rig.chatProduct.control({ match: { to }, behaviour, count: 1 })
      for (const to of doubtful) {
        await draw(to, 'reset-after-accepting')
        await draw(to, 'no-webhooks')
      }
      await rig.client.post(rig.tenant, first, 200)
      await rig.chatProduct.hasTaken(first.length)
      for (const to of doubtful) await draw(to, 'recipient-not-allowed')
      await rig.client.post(rig.tenant, recipients.slice(first.length), 200)
      const { judgement, messages } = await testimonyAtQuiescence(rig, run, { flagsEarned: DOUBTFUL })
      const inDoubt = new Set(doubtful)
      const unknown = messages.filter(({ to, state }) => inDoubt.has(to) && state === 'unknown').length
      return {
        judgement,
        figures: [{ what: 'doubtful messages shown as unknown', value: unknown, unit: 'messages', atLeast: DOUBTFUL }],
      }
    }),
}
