// One of three workers is killed every second while WhatsApp lies about one message in twelve. Half of the
// messages must arrive, half must never be repeated.
import { type PlannedFaults, planFaults } from '../faults.ts'
import { killEvery, mostKills } from '../nemesis.ts'
import { type KnownMessage, type Testimony, testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { type Figure, onRig, type Run, type Scenario, timeLimit } from '../scenario.ts'
import type { Policy, Wire } from '../tenant.ts'

/**
 * A hanging provider is given up soon, so that a run is not spent waiting for lost attempts. A small run, which other work
 * may slow down, waits longer: an answer that comes too late makes a flag that no fault has earned.
 */
export const impatient = (run: Run) => ({ LANEWAY_SEND_TIMEOUT_SECONDS: String(timeLimit(run, 1)) })

const WENT_OUT = ['sent', 'delivered', 'read']

const workerKill = (wire: Wire): Scenario => ({
  name: `worker-kill-${wire}`,
  promise: 'Workers killed in mid-send, under a lying provider, lose no message and send none twice silently.',
  run: (run) =>
    onRig(run, { workers: 3, tenants: bothPolicies(wire), env: impatient(run) }, async (rig) => {
      rig.providerLine.delayReplies(20, 120)
      const lists = rig.tenants.map((_tenant, n) => recipientsOf(n, run.full ? 5_000 : 250))
      const faults = await planFaults(rig.chatProduct, run.random.fork('faults'), lists.flat())
      const random = run.random.fork('kills')
      const kills = killEvery(1_000, rig.workers, random, mostKills(run.full))
      await Promise.all(rig.tenants.map((tenant, n) => rig.client.post(tenant, lists[n] ?? [], run.full ? 100 : 40)))
      await kills.stop()
      run.say(`${rig.client.acknowledged()} accepted, ${kills.strikes()} workers killed`)
      const flagsEarned = kills.strikes() * CONCURRENCY * rig.tenants.length + faults.withoutProof
      const found = await testimonyAtQuiescence(rig, run, { flagsEarned })
      return { judgement: found.judgement, figures: policyFigures(found, faults, wire, run.full) }
    }),
})

export const workerKills: readonly Scenario[] = [workerKill('cloud-api'), workerKill('partner-api')]

/** One tenant whose messages must arrive, and one whose campaign messages must never be repeated. */
export const bothPolicies = (wire: Wire) => [
  { wire, policy: 'at_least_once' as const },
  { wire, policy: 'at_most_once' as const, campaign: true },
]

/**
 * What the policies promise beyond the zeros. Where evidence comes back few messages are repeated and nearly all that
 * went out unanswered are settled by it; a small run has too few of them to hold a share to a bound.
 */
export function policyFigures(found: Testimony, faults: PlannedFaults, wire: Wire, full: boolean): Figure[] {
  const twice = new Set(found.judgement.sentTwice)
  const of = (policy: Policy) => found.posted.filter(({ tenant }) => tenant.policy === policy)
  const sentTwice = (policy: Policy) => of(policy).filter(({ to }) => twice.has(to)).length
  const figures: Figure[] = [
    { what: 'at_most_once sent twice', value: sentTwice('at_most_once'), unit: 'messages', atMost: 0 },
    {
      what: 'at_least_once sent twice, flagged',
      value: (100 * sentTwice('at_least_once')) / Math.max(1, of('at_least_once').length),
      unit: '%',
      ...(wire === 'cloud-api' && full ? { atMost: 0.1 } : {}),
    },
  ]
  if (wire === 'partner-api') return figures
  const unanswered = found.messages.filter((message) => wasTakenUnanswered(message, faults))
  const settled = unanswered.filter(
    ({ taken, inside, state }) => taken === 1 && WENT_OUT.includes(state) && inside?.possibleDuplicate === false,
  )
  return [
    ...figures,
    {
      what: `settled by evidence without a resend, of ${unanswered.length} sent without an answer`,
      value: (100 * settled.length) / Math.max(1, unanswered.length),
      unit: '%',
      ...(full ? { atLeast: 98 } : {}),
    },
  ]
}

/** Whether WhatsApp took an attempt that the worker never learnt of, by a lie or because it was killed. */
function wasTakenUnanswered({ to, attempts, inside }: KnownMessage, faults: PlannedFaults): boolean {
  const fault = faults.met.get(to)
  const history = inside?.history ?? []
  const first = history.findIndex(({ code }) => code === 'c')
  return attempts.some((attempt) => {
    const claimed = history.findIndex(({ code, detail }) => code === 'c' && detail === attempt)
    if (claimed < 0) return false
    if (claimed === first && fault?.taken === true && !fault.proves) return true
    const later = history.slice(claimed + 1)
    const next = later.findIndex(({ code }) => code === 'c')
    return later.slice(0, next < 0 ? undefined : next).some(({ code }) => code === 'h' || code === 'l')
  })
}
