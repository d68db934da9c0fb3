// Primaries are killed under load, again and again, behind Sentinel and in a cluster. Replication is asynchronous: without
// LANEWAY_REDIS_MIN_REPLICAS the last that was acknowledged may be lost, which is counted; with it nothing may be.
import { messageKey, rootKeys } from '../../../src/redis/keys.ts'
import type { RedisServer } from '../../testbed/redis-server.ts'
import type { Posted } from '../client.ts'
import { type Testimony, testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY, type Rig } from '../rig.ts'
import { type Figure, type Finding, onRig, type Run, type Scenario, timeLimit } from '../scenario.ts'
import { pause } from '../wait.ts'

/** Work goes on between two kills for so long. */
const BETWEEN_MS = 3_000
/** What was acknowledged this long before a kill may be lost without min replicas. */
const AT_RISK_MS = 1_000

interface Kill {
  atMs: number
  /** Lanes that the killed server had. */
  hit: ReadonlySet<number>
}

interface Failover {
  name: string
  promise: string
  topology: 'sentinel' | 'cluster'
  minReplicas: 0 | 1
  /** Kills of a full run, and of a short one. */
  kills: readonly [full: number, short: number]
  perSecond: number
}

const failoverScenario = (plan: Failover): Scenario => ({
  name: plan.name,
  promise: plan.promise,
  run: (run) =>
    onRig(
      run,
      {
        topology: plan.topology,
        // One that acknowledges must be left when the primary is gone.
        replicas: plan.topology === 'sentinel' ? 2 : 1 + plan.minReplicas,
        ...{ producers: 2, workers: 2, env: { LANEWAY_REDIS_MIN_REPLICAS: String(plan.minReplicas) } },
        tenants: Array.from({ length: plan.topology === 'cluster' ? 3 : 1 }, () => ({
          ...({ wire: 'cloud-api', policy: 'at_least_once' } as const),
        })),
      },
      (rig) => play(run, rig, plan),
    ),
})

async function play(run: Run, rig: Rig, plan: Failover): Promise<Finding> {
  const wanted = run.full ? plan.kills[0] : plan.kills[1]
  const perTenant = Math.ceil((run.full ? plan.perSecond : Math.min(plan.perSecond, 60)) / rig.tenants.length)
  const kills: Kill[] = []
  let killing = true
  const posting = rig.tenants.map(async (tenant, n) => {
    // Each second's begin on time: a client that waited for those of the last second would stop with the first that waits.
    const begun: Promise<void>[] = []
    for (let second = 0; killing; second += 1) {
      begun.push(rig.client.post(tenant, recipientsOf(n * 10_000 + second, perTenant), perTenant))
      await pause(1_000)
    }
    await Promise.all(begun)
  })
  await pause(BETWEEN_MS)
  for (let n = 0; n < wanted; n += 1) {
    const victim = await nextVictim(rig, n)
    const hit = await lanesOf(rig, victim)
    kills.push({ atMs: Date.now(), hit })
    await victim.kill9()
    await pause(BETWEEN_MS + 6_000)
    await victim.restart()
    await (rig.sentinels ?? rig.cluster)?.settled()
    run.say(`${rig.client.acknowledged()} accepted, ${n + 1} of ${wanted} primaries killed`)
    await pause(BETWEEN_MS)
  }
  killing = false
  await Promise.all(posting)
  // Every message that was under way at a kill may be in doubt.
  const flagsEarned = wanted * rig.workers.length * rig.tenants.length * 2 * CONCURRENCY
  return findingOf(run, rig, plan, kills, await testimonyAtQuiescence(rig, run, { flagsEarned }))
}

/** The primary; of a cluster each in turn, first that of the numbers that are given out. */
async function nextVictim(rig: Rig, turn: number): Promise<RedisServer> {
  if (rig.sentinels) return rig.sentinels.primary()
  if (!rig.cluster) throw new Error('there is nobody to take over')
  const lane = rig.tenants[turn % rig.tenants.length]?.lane ?? 1
  return rig.cluster.primaryOf(turn % 3 === 0 ? rootKeys.sequences : messageKey(lane, ''))
}

async function lanesOf(rig: Rig, victim: RedisServer): Promise<Set<number>> {
  const lanes = rig.tenants.map(({ lane }) => lane)
  if (!rig.cluster) return new Set(lanes)
  const primaries = await Promise.all(lanes.map((lane) => rig.cluster?.primaryOf(messageKey(lane, ''))))
  return new Set(lanes.filter((_lane, i) => primaries[i]?.port === victim.port))
}

function findingOf(run: Run, rig: Rig, plan: Failover, kills: readonly Kill[], found: Testimony): Finding {
  const { judgement } = found
  const gaps = (ofHit: boolean): number[] =>
    kills.flatMap(({ atMs, hit }) => {
      const lanes = rig.tenants.filter((tenant) => hit.has(tenant.lane) === ofHit)
      return lanes.map((tenant) =>
        longestSilence(
          found.posted.filter((posted) => posted.tenant === tenant),
          atMs,
        ),
      )
    })
  const figures: Figure[] = [
    { what: 'primaries killed', value: kills.length, unit: 'kills' },
    {
      what: 'accepting again on its lanes after',
      value: Math.max(0, ...gaps(true)),
      unit: 'ms',
      atMost: timeLimit(run, 10_000),
    },
  ]
  if (plan.topology === 'cluster') {
    const others = (posted: Posted, { hit }: Kill): boolean => !hit.has(posted.tenant.lane)
    figures.push(
      {
        ...{ what: 'accepting on the other lanes after', value: Math.max(0, ...gaps(false)), unit: 'ms' },
        atMost: timeLimit(run, 3_000),
      },
      // What an Idempotency-Key stands for is on one server, whichever lane its message is for.
      {
        what: 'longest wait of a message for the other lanes, as its Idempotency-Key was on the killed one',
        value: Math.max(
          0,
          ...kills.flatMap((kill) => found.posted.filter((each) => others(each, kill)).map(waitOf(kill))),
        ),
        unit: 'ms',
      },
    )
  }
  const atRisk = found.posted.filter(({ answers }) =>
    answers.some(
      ({ status, atMs }) =>
        status === 200 && kills.some((kill) => atMs > kill.atMs - AT_RISK_MS && atMs <= kill.atMs + 500),
    ),
  ).length
  figures.push(
    { what: 'lost', value: judgement.lostSilently.length, unit: 'messages', atMost: plan.minReplicas > 0 ? 0 : atRisk },
    {
      what: 'doubled in silence',
      value: judgement.sentTwiceSilently.length,
      unit: 'messages',
      atMost: plan.minReplicas > 0 ? 0 : atRisk,
    },
    { what: 'flagged', value: judgement.flagged.length, unit: 'messages' },
  )
  if (plan.minReplicas > 0) return { judgement, recoveryMs: Math.max(0, ...gaps(true)), figures }
  // Counted above, and bounded by what was acknowledged right before a kill.
  const counted = / lost silently| sent twice silently| neither settled| ledger contradicts/
  judgement.violations = judgement.violations.filter((sentence) => !counted.test(sentence))
  return { judgement, recoveryMs: Math.max(0, ...gaps(true)), figures }
}

/** How long (ms) a message that was posted around a kill waited from its first request to its acknowledgement. */
const waitOf =
  ({ atMs }: Kill) =>
  ({ answers }: Posted): number => {
    const [first] = answers
    const accepted = answers.find(({ status }) => status === 200)
    const isNear = first !== undefined && first.atMs >= atMs - 500 && first.atMs <= atMs + BETWEEN_MS + 6_000
    return isNear && accepted !== undefined ? accepted.atMs - first.atMs + (first.tookMs ?? 0) : 0
  }

/** The longest time without an acknowledgement around a kill. */
function longestSilence(posted: readonly Posted[], atMs: number): number {
  const times = posted
    .flatMap(({ answers }) => answers.flatMap((answer) => (answer.status === 200 ? [answer.atMs] : [])))
    .sort((a, b) => a - b)
  let longest = 0
  for (const [i, time] of times.entries()) {
    const before = times[i - 1] ?? time
    if (time >= atMs && before <= atMs + BETWEEN_MS) longest = Math.max(longest, time - Math.max(before, atMs - 500))
  }
  return longest
}

export const sentinelFailover = failoverScenario({
  name: 'sentinel-failover',
  promise: 'A primary that is killed behind Sentinel is followed within 10 s, and what is lost is bounded.',
  ...{ topology: 'sentinel', minReplicas: 0, kills: [10, 1], perSecond: 300 },
})

export const sentinelFailoverReplicated = failoverScenario({
  name: 'sentinel-failover-min-replicas',
  promise: 'With one replica required, a primary that is killed behind Sentinel loses and doubles nothing.',
  ...{ topology: 'sentinel', minReplicas: 1, kills: [20, 1], perSecond: 500 },
})

export const clusterFailover = failoverScenario({
  name: 'cluster-failover',
  promise: 'A primary of a cluster that is killed stops its own lanes for 10 s at most, and the others for 3 s.',
  ...{ topology: 'cluster', minReplicas: 0, kills: [6, 1], perSecond: 300 },
})
