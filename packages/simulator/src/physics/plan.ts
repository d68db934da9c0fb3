// What `POST /_control` takes of physics: the rules of WhatsApp that a business cannot know beforehand, for the numbers of
// one business portfolio. Each is off unless it is named; everything that is drawn comes from the seed.

import { z } from 'zod'

const DAY_MS = 24 * 60 * 60 * 1000

const share = z.number().min(0).max(1)
const messages = z.int().min(0).max(10_000_000)
const duration = z.int().min(1).max(DAY_MS)
const people = z.int().min(1).max(10_000_000)

/** A person who has had enough marketing gets none for a day (131049). */
const caps = z.strictObject({
  /** Share of all people who have had enough when the first message reaches them. */
  share,
  /** Whether the request is refused, or taken and reported as failed later; `either` draws for each person. */
  told: z.enum(['answer', 'webhook', 'either']).default('answer'),
  /** Chance that one whose day is over has had enough again. */
  again: share.default(0),
})

/** Marketing is held until its quality is known. */
const holds = z.strictObject({
  /** Messages that leave before the first is held. */
  after: messages.default(0),
  /** How long WhatsApp takes to decide, from the first that is held. */
  for_ms: duration,
  /** `well`: all are sent, and no more are held; `badly`: all are dropped, and the template is paused. */
  ends: z.enum(['well', 'badly']),
  /** What a dropped message fails with. */
  code: z.union([z.literal(132015), z.literal(135000)]).default(132015),
})

/** People to whom all numbers together may write first in a moving day; one more is refused with 131048. */
const budget = z
  .strictObject({
    people,
    /** The limit is raised to this, and a webhook reports it. */
    raised_to: people.optional(),
    /** How long after the physics were switched on. */
    raised_after_ms: duration.optional(),
  })
  .refine(({ raised_to, raised_after_ms }) => (raised_to === undefined) === (raised_after_ms === undefined), {
    error: 'is required with raised_to, and only then',
    path: ['raised_after_ms'],
  })

/** People who read marketing block the number: the quality of template and number falls. */
const quality = z.strictObject({
  /** Share of all people who block it. */
  blocks: share,
  /** Blocks after which the template is paused (132015); at a third it is YELLOW, at two thirds RED. */
  pauses_template_at: messages.min(3).optional(),
  /** Blocks of one number after which it is held back for spam (131048). */
  holds_number_back_at: messages.min(1).optional(),
  /** For how long. */
  holds_number_back_ms: duration.default(DAY_MS),
})

/** Each number has a throughput, and is raised to 1,000 a second after a while. */
const throughput = z.strictObject({
  /** Messages a second; above it 130429. */
  rate: z.int().min(1).max(1000),
  /** Messages of a number after which it is raised, and a webhook reports it. */
  raised_after: messages.min(1).optional(),
})

/** A number is closed for maintenance once (131057). */
const maintenance = z.strictObject({
  /** Messages of a number after which it begins. */
  after: messages,
  for_ms: duration,
})

/** The rules of one portfolio. */
export const planSchema = z.strictObject({
  /** Its account at WhatsApp, which its webhooks come from; names it in the listing. */
  waba_id: z.string().regex(/^[1-9]\d{0,29}$/, 'must be the id of an account at WhatsApp (digits)'),
  /** Phone number ids of its numbers, on the Cloud API wire. */
  senders: z
    .array(z.string().regex(/^\d{1,20}$/, 'must be a phone number id (digits)'))
    .min(1)
    .max(20),
  /** Names of templates that are marketing; without it all are. */
  marketing: z.array(z.string().min(1).max(512)).max(100).optional(),
  seed: z.int().default(1),
  /** How long a day is. */
  day_ms: duration.default(DAY_MS),
  caps: caps.optional(),
  holds: holds.optional(),
  budget: budget.optional(),
  quality: quality.optional(),
  throughput: throughput.optional(),
  maintenance: maintenance.optional(),
})
export type Plan = z.infer<typeof planSchema>

/** Plans of several portfolios; no number belongs to two. */
export const plansSchema = z
  .array(planSchema)
  .max(1000)
  .refine((plans) => isOnce(plans.flatMap(({ senders }) => senders)), 'a number belongs to two portfolios')
  .refine((plans) => isOnce(plans.map(({ waba_id }) => waba_id)), 'two portfolios have one waba_id')

const isOnce = (names: readonly string[]): boolean => new Set(names).size === names.length
