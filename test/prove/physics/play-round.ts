// Plays one round of worlds side by side, on one rig: first those in which nothing goes wrong, undisturbed, since their time
// is measured; then the others, while workers are killed one after the other.
import { readyCampaign } from '../campaign.ts'
import { postJson } from '../http.ts'
import { lookUp } from '../lookup.ts'
import type { Random } from '../random.ts'
import { recipientsOf } from '../recipients.ts'
import { type Rig, type RigPlan, startRig } from '../rig.ts'
import type { Run } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'
import { OTHER_NUMBER, physicsOf, setUp } from './business.ts'
import type { Played } from './judge-worlds.ts'
import { readPhysics } from './listing.ts'
import { playWorld, type Ready, type Seen } from './play-world.ts'
import { drawWorld, KINDS, type Kind, type World } from './worlds.ts'

/** How many worlds of each kind. */
export type Round = Readonly<Record<'good' | 'bad', Partial<Record<Kind, number>>>>

/** Most worlds of one round: people and accounts at WhatsApp are told apart by their place. */
const MOST = 50
/** Senders and portfolios are known for a second each. */
const KNOWN_AFTER_MS = 2_500
/** Updates that are due within the longest world. */
const UPDATES_LIMIT_MS = 60_000

const WORKERS = 2
const KILL_EVERY_MS = { least: 3_000, most: 7_000 }

/** `flags`: messages that one kill may leave flagged. */
export async function playRound(
  run: Run,
  number: number,
  round: Round,
  { env, flags }: { env: Record<string, string>; flags: number },
): Promise<Played & { kills: number; deaths: readonly string[] }> {
  const random = run.random.fork(`round ${number}`)
  const draw = (kinds: Round['good'], from: number): World[] =>
    KINDS.flatMap((kind) => Array.from({ length: kinds[kind] ?? 0 }, () => kind)).map((kind, n) =>
      drawWorld(kind, number * MOST + from + n, random.fork(`world ${from + n}`)),
    )
  const good = draw(round.good, 0)
  const bad = draw(round.bad, good.length)
  const plan: RigPlan = {
    workers: WORKERS,
    env,
    tenants: [...good, ...bad].map(({ rate }) => ({ wire: 'cloud-api', policy: 'at_most_once', campaign: true, rate })),
  }
  const rig = await startRig(run, plan)
  try {
    const ready = await prepare(rig, [...good, ...bad])
    await pause(KNOWN_AFTER_MS)
    const seen = await playAll(rig, run, ready.slice(0, good.length))
    run.say(`round ${number + 1}: ${good.length} worlds without trouble are over`)
    const trouble = new AbortController()
    const killing = killWorkers(rig, random.fork('kills'), trouble.signal)
    seen.push(...(await playAll(rig, run, ready.slice(good.length)).finally(() => trouble.abort())))
    const kills = await killing
    await eventually(async () => (await rig.chatProduct.updatesWaiting()) === 0, UPDATES_LIMIT_MS, 250)
    const codes = seen.flatMap(({ ready: { business }, codes: all }) =>
      all.map(({ id }) => ({ tenant: business.tenant, id })),
    )
    return {
      seen,
      ledger: await rig.chatProduct.ledger(),
      physics: await readPhysics(rig),
      codeStates: await lookUp(rig.liveProducer(), codes),
      flagsEarned: kills * flags,
      kills,
      deaths: rig.deaths,
    }
  } finally {
    await rig.stop()
  }
}

/** Switches the physics of these worlds on, instead of those before, and plays them. */
async function playAll(rig: Rig, run: Run, ready: readonly Ready[]): Promise<Seen[]> {
  await rig.chatProduct.control(physicsOf(ready.map(({ business }) => business)))
  return Promise.all(ready.map((each) => playWorld(each, run)))
}

async function prepare(rig: Rig, worlds: readonly World[]): Promise<Ready[]> {
  const ready: Ready[] = []
  for (const [n, world] of worlds.entries()) {
    const tenant = rig.tenants[n]
    if (tenant === undefined) throw new Error('a world has no tenant')
    const business = await setUp(rig, tenant, world)
    const own: Rig = { ...rig, tenant }
    const people = recipientsOf(2 * world.place, world.people)
    const more = { retry_capped: { times: world.waves } }
    const campaign = await readyCampaign(own, people, { list: 'first', more })
    const second = world.secondCampaign
      ? await readyCampaign(own, people, { list: 'second', sender: OTHER_NUMBER })
      : undefined
    for (const from of people.slice(0, world.writers)) {
      await postJson(`${rig.chatProduct.url}/_inbound`, { sender: tenant.phoneNumberId, from })
    }
    const codePeople = recipientsOf(2 * world.place + 1, world.codes.count)
    ready.push({ business, rig: own, people, codePeople, campaign, second })
  }
  return ready
}

/** Kills a worker every few seconds and starts it again at once, until it is told to end; returns how often. */
async function killWorkers(rig: Rig, random: Random, end: AbortSignal): Promise<number> {
  let kills = 0
  for (;;) {
    await pause(random.between(KILL_EVERY_MS.least, KILL_EVERY_MS.most))
    if (end.aborted) return kills
    const worker = rig.workers[kills % rig.workers.length]
    await worker?.kill9()
    kills += 1
    await worker?.start()
  }
}
