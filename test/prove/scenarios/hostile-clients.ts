// Clients that keep none of the rules, 200 at a time: bodies made to exhaust the heap, halves that never end, answers
// that nobody reads, floods of headers; a thousand that hang up, over all routes and in every moment; and an account that
// takes all connections with a good key.
import { execFileSync } from 'node:child_process'
import { createCredential, revokeCredential } from '../../../src/accounts/credentials.ts'
import { DECLARED } from '../../support/route-table.ts'
import { preloading } from '../departures.ts'
import { askOnce } from '../hostile/ask-once.ts'
import { type KeyedKind, startKeyedCrowd } from '../hostile/crowd.ts'
import { hangUp, STAGES, wholeRequest } from '../hostile/hang-ups.ts'
import { askAsNewcomers } from '../hostile/newcomers.ts'
import { sendAtOnce } from '../hostile/raw-client.ts'
import { hostileRequests } from '../hostile/requests.ts'
import { createTurnReader, turnsFile } from '../hostile/turns.ts'
import { watchProcess } from '../hostile/watch.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { APP_SECRET, type Rig, type RigPlan } from '../rig.ts'
import { type Figure, onRig, type Run, type Scenario, timeLimit } from '../scenario.ts'
import { eventually } from '../wait.ts'

/** What the memory may be a minute later above that of a producer that has served every route. */
const BACK_MB = 25

/** Clients of each request that come before the figures of the start are taken. */
const WARM_UP = 5

/** Connections that one account opens: more than a producer has. */
const HOARD = 2_100
/** What newcomers wait for their answers meanwhile. */
const NEWCOMER_MS = 500

/** Nobody is answered while a turn lasts. In CPU time, so neighbours of a shared machine do not count. */
const TURN_MS = 100

export const hostileClients: Scenario = {
  name: 'hostile-clients',
  promise: 'No client ends the producer, keeps others waiting, or fills its memory, and messages of others go out.',
  run: (run) =>
    onRig(run, planIn(run.folder), async (rig) => {
      const { tenant } = rig
      const [producer] = rig.producers
      if (!producer) throw new Error('no producer')
      const watch = watchProcess(producer.url, producer.pid())
      const atOnce = run.full ? 200 : 25
      const victim = { apiKey: tenant.apiKey, inventedKey: UNKNOWN_KEY, appSecret: APP_SECRET, mediaPath: '/media/x/x' }
      await rig.client.post(tenant, recipientsOf(0, 100), 10)
      // Messages that are good would go out, by the ten thousands; their batch is put to the test by npm test.
      const requests = hostileRequests(victim).filter(({ isGood }) => !isGood)
      const cold = await watch.look()
      // Compiled code and filled pools are no memory of a flood.
      if (run.full) {
        for (const route of DECLARED) await askOnce(producer.url, route, tenant.apiKey)
        for (const request of requests) await sendAtOnce(producer.url, request, WARM_UP)
      }
      const start = await watch.look()
      const turns = createTurnReader(run.folder)
      turns.longest()
      let longestMs = 0
      let slowestMs = 0
      let mostMb = 0
      let failures = 0
      const look = async (name: string, told: object): Promise<void> => {
        const seen = await watch.look()
        slowestMs = Math.max(slowestMs, seen.slowestMs)
        mostMb = Math.max(mostMb, seen.mostMb)
        failures += seen.failures
        const turnMs = turns.longest()
        longestMs = Math.max(longestMs, turnMs)
        run.say(
          `${seen.slowestMs.toFixed(0)} ms, turn ${turnMs.toFixed(0)} ms, ${seen.mostMb.toFixed(0)} MB: ${name} ${JSON.stringify(told)}`,
        )
      }
      for (const request of requests) {
        await look(request.name, await sendAtOnce(producer.url, request, atOnce))
      }
      const body = Buffer.from(JSON.stringify({ api_key: tenant.apiKey, x: 'y'.repeat(60_000) }))
      const headers = ['content-type: application/json', `authorization: Bearer ${tenant.apiKey}`]
      const hangUps = (run.full ? 1_000 : 200) / STAGES.length
      for (const stage of STAGES) {
        const some = Array.from({ length: hangUps }, (_, n) => DECLARED[n % DECLARED.length]).filter((route) => !!route)
        await Promise.all(
          some.map(({ name, method, path }) =>
            hangUp(producer.url, wholeRequest(name, { method, path, headers, body }), stage),
          ),
        )
      }
      await look('hang-ups', {})
      const others = { apiKey: tenant.apiKey, appSecret: APP_SECRET }
      const alone = await askAsNewcomers(producer.url, others, { rounds: run.full ? 200 : 30, perSecond: 10 })
      const hoarding: Figure[] = [
        { what: 'new connections of others, alone: answered, 99 of 100', value: alone.p99Ms, unit: 'ms' },
      ]
      for (const kind of ['lookups', 'batches'] as const) {
        hoarding.push(...(await hoard(run, rig, producer.url, kind)))
        await look(`2,100 connections of an account, ${kind}`, {})
      }
      let nowMb = 0
      let descriptors = 0
      const isBack = await eventually(
        async () => {
          const now = await watch.look()
          nowMb = now.nowMb
          descriptors = now.descriptors
          return nowMb <= start.nowMb + BACK_MB && descriptors <= start.descriptors
        },
        run.full ? 60_000 : 5_000,
        1_000,
      )
      if (!isBack && run.full) run.say(`${nowMb.toFixed(0)} MB after a minute`)
      watch.stop()
      await rig.client.post(tenant, recipientsOf(100, 100), 10)
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      return {
        judgement,
        figures: [
          { what: 'slowest answer of /healthz', value: slowestMs, unit: 'ms', atMost: timeLimit(run, 250) },
          { what: 'longest event-loop tick, in CPU time', value: longestMs, unit: 'ms', atMost: TURN_MS },
          { what: 'answers of /healthz that did not come', value: failures, unit: 'answers', atMost: 0 },
          { what: 'most memory of the producer', value: mostMb, unit: 'MB', atMost: 400 },
          {
            what: 'memory a minute later, above that of a producer that has served every route',
            value: nowMb - start.nowMb,
            unit: 'MB',
            ...(run.full ? { atMost: BACK_MB } : {}),
          },
          { what: 'and above that of one that has just started', value: nowMb - cold.nowMb, unit: 'MB' },
          {
            what: 'descriptors above its start, a minute later',
            value: descriptors - start.descriptors,
            unit: 'descriptors',
            ...(run.full ? { atMost: 0 } : {}),
          },
          ...hoarding,
        ],
      }
    }),
}

/** One account takes all connections, and goes on after its key was revoked; what others get meanwhile. */
async function hoard(run: Run, { store, tenants }: Rig, url: string, kind: KeyedKind): Promise<Figure[]> {
  const [other, attacker] = tenants
  if (!other || !attacker) throw new Error('two accounts are needed')
  const account = Number(await store.hget('lw:lanes', String(attacker.lane)))
  const key = await createCredential(store, account, ['messages:send', 'messages:read'], Date.now())
  const crowd = startKeyedCrowd(url, HOARD, { kind, keys: [key.secret], addresses: 200, everyMs: 5_000 })
  const others = { apiKey: other.apiKey, appSecret: APP_SECRET }
  const figures: Figure[] = []
  const ask = async (when: string): Promise<void> => {
    const { failures, p99Ms } = await askAsNewcomers(url, others, { rounds: run.full ? 200 : 30, perSecond: 10 })
    run.say(`${kind}, ${when}: ${JSON.stringify({ ...(await crowd.counts()), failures })}`)
    const failed = Object.values(failures).reduce((sum, times) => sum + times, 0)
    const what = `new connections of others, beside 2,100 of an account, ${kind}, ${when}`
    figures.push(
      { what: `${what}: failed`, value: failed, unit: 'requests', atMost: 0 },
      { what: `${what}: answered, 99 of 100`, value: p99Ms, unit: 'ms', atMost: timeLimit(run, NEWCOMER_MS) },
    )
  }
  try {
    const isFull = async (): Promise<boolean> => (await crowd.counts()).made > HOARD
    if (!(await eventually(isFull, 60_000))) throw new Error('the crowd did not take all connections')
    await ask('with a good key')
    await revokeCredential(store, account, key.id)
    const isRefused = async (): Promise<boolean> => ((await crowd.counts()).answers['401'] ?? 0) > 0
    if (!(await eventually(isRefused, 60_000))) throw new Error('the key was not revoked')
    await ask('after it was revoked')
  } finally {
    await crowd.stop()
  }
  return figures
}

/** The settings of the allocator that npm starts it with. */
function allocator(): Record<string, string> {
  const told = execFileSync('sh', ['scripts/with-allocator.sh', 'env'], { encoding: 'utf8' })
  return Object.fromEntries(
    [...told.matchAll(/^(LD_PRELOAD|MALLOC_\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
  )
}

const TENANT = { wire: 'cloud-api', policy: 'at_least_once' } as const

/** With the heap that they give it. */
const planIn = (folder: string): RigPlan => ({
  producers: 1,
  workers: 1,
  tenants: [TENANT, TENANT],
  env: { NODE_OPTIONS: '--max-old-space-size=1024' },
  producerEnv: {
    NODE_OPTIONS: `--max-old-space-size=1024 ${preloading('turns')}`,
    ...allocator(),
    PROVE_TURNS: turnsFile(folder),
  },
})

/** In the form of a key, with its checksum, and nobody's. */
const UNKNOWN_KEY = 'lw_000000000000000000000000000000013xCZeQ'
