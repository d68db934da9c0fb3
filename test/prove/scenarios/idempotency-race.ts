// Two hundred requests at the same moment, all with one Idempotency-Key, spread over two producers.
import { acceptedId } from '../client.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

const AT_ONCE = 200

export const idempotencyRace: Scenario = {
  name: 'idempotency-race',
  promise: 'However many requests with one Idempotency-Key come at the same time, they are one message with one id.',
  run: (run) =>
    onRig(run, { producers: 2, workers: 1, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      const { tenant } = rig
      const recipients = recipientsOf(0, run.full ? 500 : 5)
      for (const [round, to] of recipients.entries()) {
        await rig.client.race(tenant, to, AT_ONCE)
        if (round % 50 === 49) run.say(`${round + 1} rounds`)
      }
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const answers = rig.client.log.flatMap((posted) => posted.answers)
      const acknowledged = answers.filter(({ id }) => id !== undefined).length
      const ids = new Set(rig.client.log.map(acceptedId)).size
      const rounds = recipients.length
      return {
        judgement,
        figures: [
          { what: 'requests acknowledged', value: acknowledged, unit: 'requests', atLeast: rounds * AT_ONCE },
          { what: 'ids given out', value: ids, unit: 'ids', atLeast: rounds, atMost: rounds },
        ],
      }
    }),
}
