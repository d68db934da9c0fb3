// WhatsApp is down: every request is answered with a plain 500, which proves nothing. What leaves then is
// flagged, so a lane must not go on at its pace until its backlog is gone; it asks now and then whether it is back.

import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

const RATE = 80
/** Most of a backlog, in percent, that may be given to an outage of two minutes, and of ten seconds. Unheld, all is. */
const MOST_GIVEN = { full: 5, small: 25 }

export const providerOutage: Scenario = {
  name: 'provider-outage',
  promise: 'While the provider answers nothing but errors a lane holds its backlog back, and sends it afterwards.',
  run: (run) => {
    const seconds = run.full ? 120 : 10
    const mostGiven = MOST_GIVEN[run.full ? 'full' : 'small']
    const plan = { workers: 2, tenants: [{ wire: 'cloud-api', policy: 'at_most_once', rate: RATE }] } as const
    return onRig(run, { ...plan, env: { LANEWAY_UNCONFIRMED_WAIT_SECONDS: '5' } }, async (rig) => {
      const { tenant } = rig
      await rig.chatProduct.control({ behaviour: 'plain-500' })
      const posting = rig.client.post(tenant, recipientsOf(0, RATE * seconds * 0.8), RATE)
      await pause(seconds * 1_000)
      await rig.chatProduct.control({ clear: true })
      await posting
      const accepted = rig.client.acknowledged()
      run.say(`${accepted} accepted while it was down`)
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: (accepted * mostGiven) / 100 })
      const unsent = judgement.accepted - judgement.inLedger
      return {
        judgement,
        figures: [
          {
            what: `given to an outage of ${seconds} s`,
            value: (100 * unsent) / Math.max(1, judgement.accepted),
            unit: '%',
            atMost: mostGiven,
          },
        ],
      }
    })
  },
}
