// Three workers on three machines: one is five minutes ahead, another five minutes behind. The provider refuses
// some messages at first, so that they wait for another try.
import { AFTER_STALL, busiest, clockOf, departuresOf, noted, preloading, setClock } from '../departures.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

const SKEW_MS = 300_000
const SKEWS = [0, SKEW_MS, -SKEW_MS]
/** Recipients that the simulator refuses at first: for a moment, and for the pair limit. */
const REFUSED_AT_FIRST = ['15550100121', '15550100003']
/** The provider asks that recipient again a second later at the earliest; a worker's clock must not shorten that. */
const LEAST_WAIT_MS = 900

export const clockSkew: Scenario = {
  name: 'clock-skew',
  promise: 'A worker whose clock is minutes off loses, doubles and expires nothing, and keeps waits and pace.',
  run: (run) => {
    const rate = 80
    const plan = {
      workers: 3,
      tenants: (['at_least_once', 'at_most_once'] as const).map(
        (policy) => ({ wire: 'cloud-api', policy, rate }) as const,
      ),
      workerEnv: (worker: number) => ({
        ...noted(run.folder),
        NODE_OPTIONS: preloading('clock-skew', 'departures'),
        ...clockOf(run.folder, worker),
      }),
    }
    for (const [at, skewMs] of SKEWS.entries()) setClock(run.folder, at + 1, skewMs)
    return onRig(run, plan, async (rig) => {
      const each = run.full ? 2_400 : 250
      await Promise.all(
        rig.tenants.map((tenant, n) => {
          const recipients = [...(n === 0 ? REFUSED_AT_FIRST : []), ...recipientsOf(n, each)]
          return rig.client.post(tenant, recipients, 200)
        }),
      )
      const { judgement, messages, ledger } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const expired = messages.filter(({ state }) => state === 'expired').length
      const unsent = messages.filter(({ taken }) => taken === 0).length
      const waits = messages
        .filter(({ to }) => REFUSED_AT_FIRST.includes(to))
        .map(({ inside }) => {
          const refusedAt = inside?.history.find(({ code }) => code === 'u')?.atMs ?? 0
          const again = inside?.history.find(({ code, atMs }) => code === 'c' && atMs > refusedAt)?.atMs ?? 0
          return again - refusedAt
        })
      return {
        judgement,
        figures: [
          { what: 'expired', value: expired, unit: 'messages', atMost: 0 },
          { what: 'accepted but not sent', value: unsent, unit: 'messages', atMost: 0 },
          { what: 'shortest wait for another try', value: Math.min(...waits), unit: 'ms', atLeast: LEAST_WAIT_MS },
          { what: 'longest wait for another try', value: Math.max(...waits), unit: 'ms', atMost: 15_000 },
          ...rig.tenants.map(({ phoneNumberId, policy }) => ({
            what: `most leaving in any second of the lane of ${policy}`,
            value: busiest(departuresOf(run.folder, phoneNumberId), 1_000),
            unit: 'messages',
            atMost: rate * AFTER_STALL,
          })),
          { what: 'taken by WhatsApp', value: ledger.length, unit: 'messages' },
        ],
      }
    })
  },
}
