// Pins: through whole lives of people, with messages and campaigns, words and reports that come late and twice, senders that
// come and go, and workers that die at any command: after a stop no advertising leaves to them until a later start, and
// after an erasure was answered nothing of them stands anywhere but what docs/how-it-works/privacy.md names. `LIVES=2000` for more of
// them; `SENDERS_STAY=1` without removed senders. Real: Redis, files. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createRandom, type Random } from '../prove/random.ts'
import { beginLife, spellingsOf, startWorld, type World } from '../support/people-lives.ts'

const LIVES = Number(process.env.LIVES ?? 12)
const SENDERS_STAY = process.env.SENDERS_STAY !== undefined
const MOVES = 14
const AT_ONCE = 6

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.close())

/** What people have said, and whom nothing may leave to. Told the same words as Redis, each by its time. */
function createModel() {
  const stops = new Map<string, Map<string, number>>()
  const ends = new Map<string, { all: number; provider: number }>()
  const of = (person: string) => {
    const said = stops.get(person) ?? new Map<string, number>()
    const ended = ends.get(person) ?? { all: 0, provider: 0 }
    stops.set(person, said)
    ends.set(person, ended)
    return { said, ended }
  }
  const isOver = (source: string, at: number, { all, provider }: { all: number; provider: number }): boolean =>
    at < (source === 'provider' ? Math.max(all, provider) : all)
  return {
    stop(person: string, source: string, at: number): void {
      const { said, ended } = of(person)
      // What the account says is after all that is known.
      const latest = source === 'http' ? Math.max(at, ended.all) : at
      said.set(source, Math.max(said.get(source) ?? 0, latest))
    },
    start(person: string, source: string, at: number): void {
      const { ended } = of(person)
      const which = source === 'provider' ? 'provider' : 'all'
      ended[which] = Math.max(ended[which], at)
    },
    /** The account takes them off its list: all that is known ends, brought again or not, and what is a minute older. */
    remove(person: string, at: number): void {
      const { said, ended } = of(person)
      const standing = [...said].filter(([source, stop]) => !isOver(source, stop, ended))
      if (standing.length === 0) return
      const known = standing.flatMap(([source, stop]) => (source === 'http' ? [] : [stop + 1]))
      said.clear()
      ended.all = Math.max(ended.all, at - 60_000, ...known)
    },
    isOut(person: string): boolean {
      const { said, ended } = of(person)
      return [...said].some(([source, at]) => !isOver(source, at, ended))
    },
  }
}

/** Something that WhatsApp brings, late and perhaps twice. */
interface Delivery {
  person: string
  bring: (dies?: number) => Promise<void>
  note: () => void
}

/** That lives have something to show. */
const seen = { marketing: 0, silenced: 0, erased: 0 }

async function live(seed: number, random: Random): Promise<void> {
  const life = await beginLife(world, seed)
  const model = createModel()
  const pending: Delivery[] = []
  /** Since when nothing may leave to them (`performance.now()`), and the departures that were looked at. */
  const silentSince = new Map<string, number>()
  let checked = 0
  let words = 0
  const moves: string[] = []
  const person = (): string => random.pick(life.people)
  const dies = (): number | undefined => (random.next() < 0.3 ? random.below(30) : undefined)
  const why = () => `seed ${seed}: ${moves.join(', ')}`
  const seconds = (): number => Math.floor(Date.now() / 1_000 - random.pick([0, 3, 20, 90, 400])) * 1_000

  function checkDepartures(): void {
    for (const { to, isMarketing, at } of life.left.slice(checked)) {
      if (isMarketing) expect(at, why()).toBeLessThanOrEqual(silentSince.get(to) ?? Number.POSITIVE_INFINITY)
      if (isMarketing) seen.marketing += 1
    }
    checked = life.left.length
  }

  /** What may change whether somebody is opted out, whatever else goes on; it has been answered when this ends. */
  async function change(of: string, work: () => Promise<void>): Promise<void> {
    checkDepartures()
    await work()
    checkDepartures()
    expect(await life.isOut(of), why()).toBe(model.isOut(of))
    if (!model.isOut(of)) silentSince.delete(of)
    else if (!silentSince.has(of)) {
      silentSince.set(of, performance.now())
      seen.silenced += 1
    }
  }

  async function deliver(): Promise<void> {
    if (pending.length === 0) return
    const at = random.below(pending.length)
    const [one] = random.next() < 0.3 ? pending.slice(at, at + 1) : pending.splice(at, 1)
    if (one === undefined) return
    const death = dies()
    await change(one.person, async () => {
      // Not answered, it is brought again.
      if (death !== undefined) await one.bring(death)
      // From here on it may be known.
      one.note()
      if (!model.isOut(one.person)) silentSince.delete(one.person)
      await one.bring()
    })
  }

  function says(): void {
    const of = person()
    const atMs = seconds()
    const stops = random.next() < 0.6
    words += 1
    const id = `wamid.${seed}.${words}.${Buffer.from(of).toString('base64')}`
    if (random.next() < 0.6) {
      const word = random.next() < 0.2 ? `Hi, ${life.nameOf(of)}` : stops ? 'STOP' : 'start'
      const note = () => {
        if (word === 'STOP') model.stop(of, 'word', atMs + 999)
        else if (word === 'start') model.start(of, 'word', atMs)
      }
      pending.push({ person: of, bring: (death) => life.bringWord(of, word, id, atMs, death), note })
    } else {
      const note = () => (stops ? model.stop(of, 'provider', atMs + 999) : model.start(of, 'provider', atMs))
      const what = stops ? 'stop' : 'resume'
      pending.push({ person: of, bring: (death) => life.bringPreference(of, what, atMs, death), note })
    }
  }

  function reports(): void {
    const message = life.left[random.below(Math.max(1, life.left.length))]
    if (message === undefined) return
    const bring = (death?: number) => life.bringStatus(message, false, seconds(), death)
    pending.push({ person: message.to, bring, note: () => {} })
  }

  async function erase(of: string): Promise<void> {
    await change(of, () =>
      life.erase(
        of,
        [dies(), dies()].flatMap((n) => n ?? []),
      ),
    )
    seen.erased += 1
    const spellings = [...spellingsOf(of), life.nameOf(of)]
    const places = (await world.everything()).flatMap(([at, what]) =>
      spellings.filter((each) => what.includes(each)).map((each) => `${each} at ${at}`),
    )
    expect(places.join(), why()).toBe('')
    const { kept, list } = await life.shown(of)
    expect(kept, why()).toMatchObject({ data: { contact: null, messages: [], campaigns: [] } })
    expect(list, why()).not.toContain(of)
  }

  /** Stops somebody while a campaign is sent. */
  async function stopInCampaign(): Promise<void> {
    await life.startCampaign(random.below(2))
    const of = person()
    const sending = life.sendCampaign({ rate: random.pick([10, 20, 1_000]) })
    await change(of, async () => {
      model.stop(of, 'http', await life.optOut(of))
    })
    await sending
    checkDepartures()
  }

  const steps: Readonly<Record<string, () => Promise<void> | void>> = {
    accept: () => life.accept(person(), random.below(2), random.pick(['transactional', 'campaign'])),
    work: () => life.work(random.below(2), dies()),
    campaign: () => life.startCampaign(random.below(2)),
    'send campaign': () => life.sendCampaign({ dies: dies() }),
    says,
    'says two': () => {
      says()
      says()
    },
    reports,
    deliver,
    'deliver again': deliver,
    'opt out': async () => {
      const of = person()
      await change(of, async () => {
        const death = dies()
        if (death !== undefined) await life.optOut(of, death)
        model.stop(of, 'http', await life.optOut(of))
      })
    },
    'opt in': async () => {
      const of = person()
      await change(of, async () => {
        silentSince.delete(of)
        model.remove(of, await life.optIn(of))
      })
    },
    'stop in campaign': stopInCampaign,
    contact: () => life.addContact(person()),
    export: async () => void (await life.shown(person())),
    erase: () => erase(person()),
    sweep: () => life.sweep(),
    'add sender': () => life.addSender(),
    ...(!SENDERS_STAY && {
      'remove sender': async () => {
        if (life.senders() > 1) await life.removeSender(random.below(2))
      },
    }),
  }

  for (let at = 0; at < MOVES; at += 1) {
    const name = random.pick(Object.keys(steps))
    moves.push(name)
    await steps[name]?.()
    checkDepartures()
  }
  while (pending.length > 0) await deliver()
  for (let i = 0; i < 2; i += 1) await life.work(i)
  await life.sendCampaign()
  checkDepartures()
  moves.push('the end')
  for (const each of life.people) await erase(each)
}

test(
  'nothing of an erased person is kept anywhere, and nobody who said STOP gets advertising, over whole lives',
  async () => {
    const failed: string[] = []
    for (let from = 1; from <= LIVES; from += AT_ONCE) {
      const seeds = Array.from({ length: Math.min(AT_ONCE, LIVES - from + 1) }, (_, i) => from + i)
      const ended = await Promise.allSettled(seeds.map((seed) => live(seed, createRandom(seed))))
      for (const each of ended) if (each.status === 'rejected') failed.push(String(each.reason))
      await world.clear()
    }
    expect(failed).toEqual([])
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(LIVES)
  },
  Math.max(900_000, LIVES * 20_000),
)
