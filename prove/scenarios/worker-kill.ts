// One of three workers is killed every second while the chat product lies about one message in twelve.

import { planFaults } from '../faults.ts'
import { strikeEvery } from '../nemesis.ts'
import type { Part } from '../part.ts'
import type { Random } from '../random.ts'
import { recipientsOf } from '../recipients.ts'
import { type Testimony, testimonyAtRest } from '../rest.ts'
import { startRig } from '../rig.ts'
import { brokenFigures, type Figure, type Finding, type Run, type Scenario } from '../scenario.ts'
import type { Wire } from '../tenant.ts'

const CONCURRENCY = 20

/** Kills one of the workers and starts it again. */
export async function killOne(workers: readonly Part[], random: Random): Promise<void> {
  const victim = random.pick(workers)
  await victim.kill9()
  await victim.start()
}

const workerKill = (wire: Wire): Scenario => ({
  name: `worker-kill-${wire}`,
  promise: 'Workers that are killed in mid-send lose nothing and repeat nothing silently, while the provider lies.',
  async run(run: Run): Promise<Finding> {
    const rig = await startRig(run, {
      workers: 3,
      tenants: [
        { wire, policy: 'must_arrive' },
        { wire, policy: 'never_repeat', campaign: true },
      ],
      env: { LANEWAY_LANE_CONCURRENCY: String(CONCURRENCY) },
    })
    try {
      const random = run.random.fork('nemesis')
      rig.providerLine.delayReplies(20, 120)
      const each = run.full ? 10_000 : 250
      const lists = rig.tenants.map((_tenant, n) => recipientsOf(n, each))
      const faults = await planFaults(rig.chatProduct, run.random.fork('faults'), lists.flat())
      const kills = strikeEvery(1_000, () => killOne(rig.workers, random))
      const perSecond = run.full ? 125 : 40
      await Promise.all(rig.tenants.map((tenant, n) => rig.client.post(tenant, lists[n] ?? [], perSecond)))
      await kills.stop()
      run.say(`${rig.client.acknowledged()} accepted, ${kills.strikes()} kills; waiting for rest`)
      // A lane has so many messages in flight per worker, and there are two lanes.
      const flagsEarned = kills.strikes() * CONCURRENCY * 2 + faults.withoutProof
      const found = await testimonyAtRest(rig, { limitMs: 120_000, flagsEarned, say: run.say })
      const figures = figuresOf(found, wire)
      return { judgement: found.judgement, figures, violations: brokenFigures(figures) }
    } finally {
      await rig.stop()
    }
  },
})

export const workerKills: readonly Scenario[] = [workerKill('cloud-api'), workerKill('partner-api')]

function figuresOf({ judgement, posted, inside, states }: Testimony, wire: Wire): Figure[] {
  const twice = new Set(judgement.sentTwice)
  const of = (policy: string) => posted.filter(({ tenant }) => tenant.policy === policy)
  const doubled = (policy: string) => of(policy).filter(({ to }) => twice.has(to)).length
  const figures: Figure[] = [
    { what: 'never_repeat sent twice', value: doubled('never_repeat'), unit: 'messages', atMost: 0 },
  ]
  const share = (100 * doubled('must_arrive')) / of('must_arrive').length
  figures.push({
    what: 'must_arrive sent twice, flagged',
    value: share,
    unit: '%',
    ...(wire === 'cloud-api' ? { atMost: 0.1 } : {}),
  })
  void inside
  void states
  return figures
}
