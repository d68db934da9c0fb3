// The worlds that are played: each is one business with its hidden rules of WhatsApp, all drawn from the seed of the run.
// Some go well, some badly; what must hold of all of them is the same.
import type { Random } from '../random.ts'

/** How long a day of WhatsApp is here. The product's is shortened with it (provider-physics.ts). */
export const DAY_MS = 15_000

export const KINDS = [
  /** Rules are on and nothing goes wrong. */
  'calm',
  /** The same without any rules, of WhatsApp and of ours: what feeding blindly takes. */
  'blind',
  /** Marketing is held, and then sent. */
  'held',
  /** People have had enough. */
  'capped',
  /** Marketing is held, and then dropped. */
  'dropped',
  /** More people than may be written to in a day. */
  'crowded',
  /** People block the number until the template is paused. */
  'disliked',
  /** The same until the number is held back. */
  'held_back',
  /** The number is raised to a higher throughput, and closed for a while. */
  'raised',
] as const
export type Kind = (typeof KINDS)[number]

/** Rules of the simulator, without whose they are. */
interface Rules {
  day_ms: number
  seed: number
  [rule: string]: unknown
}

export interface World {
  kind: Kind
  /** Tells it from the others of the run. */
  place: number
  people: number
  /** Messages a second of the number that the campaign goes out by. */
  rate: number
  /** Null where nobody is counted. */
  dailyLimit: number | null
  reservePercent: number
  /** Codes that another number sends meanwhile, each to somebody else. */
  codes: { count: number; everyMs: number }
  /** People of the campaign who have just written: WhatsApp does not count them. */
  writers: number
  /** How often the campaign tries capped people again. */
  waves: number
  /** Whether the other number sends the same campaign to the same people. */
  secondCampaign: boolean
  rules: Rules | null
}

/** As slow as a number that is busy for hours: its pace says how long the campaign takes, and not the machine. */
const PACED = { people: 120, rate: 8 }
/** Of a world in which a kind says nothing else. */
const CODES = { count: 12, everyMs: 700 }
const AMPLE = 5_000

export function drawWorld(kind: Kind, place: number, random: Random): World {
  const rules: Rules = { day_ms: DAY_MS, seed: random.below(1e9) }
  const world: World = {
    ...{ kind, place, people: 200, rate: 50, dailyLimit: AMPLE, reservePercent: 10, codes: CODES },
    ...{ writers: 0, waves: 0, secondCampaign: false, rules },
  }
  const budget = { people: AMPLE }
  const told = random.pick(['answer', 'webhook', 'either'])
  const someCapped = random.next() < 0.4 ? { caps: { share: random.between(0.05, 0.3), told } } : {}
  switch (kind) {
    case 'calm':
      return { ...world, ...PACED, rules: { ...rules, budget, caps: { share: 0 }, throughput: { rate: 100 } } }
    case 'blind':
      return { ...world, ...PACED, dailyLimit: null, rules: null }
    case 'held': {
      // WhatsApp takes an hour over what a number sends in a minute.
      const holds = { after: random.below(10), for_ms: Math.round(random.between(15_000, 25_000)), ends: 'well' }
      return { ...world, people: 30, rate: 100, rules: { ...rules, budget, holds } }
    }
    case 'capped': {
      const caps = { share: random.between(0.1, 0.6), told, again: random.between(0, 0.4) }
      const waves = random.below(3)
      const dailyLimit = random.next() < 0.5 ? AMPLE : null
      return { ...world, people: 150, waves, dailyLimit, secondCampaign: waves === 0, rules: { ...rules, caps } }
    }
    case 'dropped': {
      const for_ms = Math.round(random.between(1_500, 4_000))
      const holds = { after: random.below(200), for_ms, ends: 'badly', code: random.pick([132_015, 135_000]) }
      return { ...world, people: 1_500, rules: { ...rules, ...someCapped, budget, holds } }
    }
    case 'crowded': {
      const dailyLimit = 40 + random.below(40)
      const people = Math.round(dailyLimit * random.between(1.2, 2.2))
      // In a day and what the product adds to it, fewer people than the reserve.
      const codes = { count: 18, everyMs: 3_500 }
      const raised = { raised_to: 2 * dailyLimit, raised_after_ms: Math.round(random.between(5_000, 15_000)) }
      const grows = random.next() < 0.3 ? raised : {}
      const rest = { ...rules, ...someCapped, budget: { people: dailyLimit, ...grows } }
      return { ...world, people, dailyLimit, reservePercent: 20, codes, writers: 5, rules: rest }
    }
    case 'disliked': {
      const quality = { blocks: random.between(0.1, 0.4), pauses_template_at: 3 + random.below(10) }
      return { ...world, people: 500, rules: { ...rules, ...someCapped, budget, quality } }
    }
    case 'held_back': {
      const holds_number_back_at = 1 + random.below(8)
      const quality = { blocks: random.between(0.1, 0.4), holds_number_back_at, holds_number_back_ms: 20_000 }
      return { ...world, people: 500, rules: { ...rules, budget, quality } }
    }
    case 'raised': {
      const throughput = { rate: 20, raised_after: 30 + random.below(30) }
      const closes = random.next() < 0.3 ? { maintenance: { after: 20 + random.below(80), for_ms: 1_000 } } : {}
      return { ...world, people: 120, rate: 20, rules: { ...rules, ...someCapped, budget, throughput, ...closes } }
    }
  }
}
