// The line to WhatsApp is cut again and again, goes half open, and swallows answers to requests that passed.
import { strikeEvery } from '../nemesis.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import type { Wire } from '../tenant.ts'
import { bothPolicies, impatient } from './worker-kill.ts'

const providerLine = (name: string, wire: Wire): Scenario => ({
  name,
  promise: 'Requests whose connection was cut or went dead are settled by evidence or flagged, never blindly repeated.',
  run: (run) =>
    onRig(run, { workers: 2, tenants: bothPolicies(wire), env: impatient(run) }, async (rig) => {
      rig.providerLine.delayReplies(20, 120)
      rig.providerLine.swallowReplies(0.02)
      const random = run.random.fork('strikes')
      const strikes = strikeEvery(700, async () => {
        if (random.next() < 0.7) rig.providerLine.cutAll()
        else rig.providerLine.freezeAll()
      })
      const each = run.full ? 5_000 : 250
      await Promise.all(
        rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, each), run.full ? 100 : 50)),
      )
      await strikes.stop()
      rig.providerLine.swallowReplies(0)
      const inFlight = rig.workers.length * CONCURRENCY * rig.tenants.length
      const flagsEarned = strikes.strikes() * inFlight + rig.providerLine.swallowed()
      run.say(`${strikes.strikes()} strikes, ${rig.providerLine.swallowed()} answers lost`)
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned })
      const lost = { what: 'answers of WhatsApp lost', value: rig.providerLine.swallowed(), unit: 'answers' }
      return { judgement, figures: [lost] }
    }),
})

/** On the wire that brings no evidence a request that is wrongly called unsent is sent twice. */
export const providerLines: readonly Scenario[] = [
  providerLine('provider-line', 'cloud-api'),
  providerLine('provider-line-partner-api', 'partner-api'),
]
