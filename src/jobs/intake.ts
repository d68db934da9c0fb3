// The jobs of the queue `{laneway-intake}`, through which other services ask for work without HTTP. Any BullMQ client in
// any language writes them, so this is a contract like that of the HTTP interface: docs/reference/jobs.md is its reference.
//
//   send                  { v: 1, api_key, message, idempotency_key?, traceparent? }   message: body of a send endpoint, no api_key
//   status                { v: 1, api_key, message_id }
//   campaign-create       { v: 1, api_key, campaign, idempotency_key? }  campaign: body of POST /campaigns
//   campaign-schedule     { v: 1, api_key, campaign_id, at }
//   campaign-pause        { v: 1, api_key, campaign_id, reason? }
//   campaign-preflight, campaign-start, campaign-resume, campaign-cancel, campaign-show    { v: 1, api_key, campaign_id
// }
import { z } from 'zod'
import { textUpTo } from '../kernel/bounded.ts'
import { type Fault, notOneOf, wrongKind } from '../kernel/fault.ts'
import { instantSchema } from '../kernel/instant.ts'
import { CAMPAIGN_STATES } from '../model/campaigns/lifecycle.ts'
import { CONTENT_TYPES } from '../model/messages/content.ts'
import { STATES } from '../model/messages/lifecycle.ts'

/** Its braces keep all its keys on one server of a cluster. */
export const INTAKE_QUEUE = '{laneway-intake}'
export const INTAKE_VERSION = 1

export const intakeJobSchema = z.enum([
  'send',
  'status',
  'campaign-create',
  'campaign-preflight',
  'campaign-schedule',
  'campaign-start',
  'campaign-pause',
  'campaign-resume',
  'campaign-cancel',
  'campaign-show',
])
export type IntakeJob = z.infer<typeof intakeJobSchema>

const idempotencyKey = textUpTo(255).optional()
const id = textUpTo(255)
/** Unknown fields are rejected: they are usually typos. */
const strict = <S extends z.ZodRawShape>(shape: S) =>
  z.strictObject({ v: z.unknown().optional(), api_key: z.unknown().optional(), ...shape })
const ofCampaign = { campaign_id: id }
/** The body of a request, as documented at its address. */
const body = z.custom<Record<string, unknown>>(
  (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
  { error: ({ input }) => wrongKind('an object', input) },
)
/** Every kind that the endpoints take: a list of its own would forget the next one. */
const messageTypes = z.enum(CONTENT_TYPES)

const versionOne = {
  send: strict({
    /** The type decides what else there must be, so it is judged first. */
    message: body.check(({ value, issues }) => {
      const type = messageTypes.safeParse(value.type)
      if (type.success) return
      const message = notOneOf(messageTypes.options, value.type)
      issues.push({ code: 'custom', path: ['type'], message, input: value.type })
    }),
    idempotency_key: idempotencyKey,
    /** A malformed one is ignored, as over HTTP: no message fails for its trace. */
    traceparent: z.string().optional().catch(undefined),
  }),
  status: strict({ message_id: id }),
  'campaign-create': strict({ campaign: body, idempotency_key: idempotencyKey }),
  'campaign-preflight': strict(ofCampaign),
  'campaign-schedule': strict({ ...ofCampaign, at: instantSchema }),
  'campaign-start': strict(ofCampaign),
  'campaign-pause': strict({ ...ofCampaign, reason: textUpTo(200).default('by hand') }),
  'campaign-resume': strict(ofCampaign),
  'campaign-cancel': strict(ofCampaign),
  'campaign-show': strict(ofCampaign),
} satisfies Record<IntakeJob, z.ZodType>

/** What each job holds beside `v` and `api_key`, as the newest version has it. */
export type IntakeContract = typeof versionOne

/**
 * The versions that are read. Jobs wait while Laneway is updated and clients are updated after it, so a version stays
 * here when its successor comes: its schemas then end in a transform to the newest shape, and nothing else uses it.
 */
const VERSIONS: ReadonlyMap<unknown, IntakeContract> = new Map([[INTAKE_VERSION, versionOne]])

/** The contract of a job's data. A job without `v` is of version 1, now and whatever versions will come. */
export function contractOf(data: object): { ok: true; contract: IntakeContract } | { ok: false; fault: Fault } {
  const version = 'v' in data ? data.v : 1
  const contract = VERSIONS.get(version)
  if (contract) return { ok: true, contract }
  return { ok: false, fault: { path: 'v', message: notOneOf([...VERSIONS.keys()], version) } }
}

const campaignNow = z.object({ campaign_id: z.string(), state: z.enum(CAMPAIGN_STATES) })

/** The return value of a finished job, by its name. */
export const intakeAnswers = {
  send: z.object({ message_id: z.string() }),
  status: z.object({ status: z.enum(STATES), error_message: z.string().nullable() }),
  'campaign-create': campaignNow,
  'campaign-preflight': campaignNow,
  'campaign-schedule': campaignNow,
  'campaign-start': campaignNow,
  'campaign-pause': campaignNow,
  'campaign-resume': campaignNow,
  'campaign-cancel': campaignNow,
  /** As over HTTP. */
  'campaign-show': z.looseObject({ id: z.string(), state: z.enum(CAMPAIGN_STATES) }),
} satisfies Record<IntakeJob, z.ZodType>

/** Why a job was refused: what its `failedReason` holds, as JSON. */
export const intakeRefusalSchema = z.object({
  /** Snake case, as in the error answers over HTTP. */
  code: z.string(),
  /** One sentence for a person. */
  message: z.string(),
  /** Every fault. The paths of a message's own faults begin inside the message, as over HTTP. */
  details: z.array(z.object({ path: z.string(), message: z.string() })),
})

/** Stands where the key was, in every job that has ended. */
export const HIDDEN_KEY = '•••'

/**
 * The data of a job that has ended: without its key, and with its end, so that a job that is run once more, because the
 * worker died before BullMQ got the end, ends the same way.
 */
export const endedIntakeSchema = z.object({
  api_key: z.literal(HIDDEN_KEY),
  end: z.union([z.object({ answer: z.looseObject({}) }), z.object({ refusal: intakeRefusalSchema })]),
})
export type IntakeEnd = z.infer<typeof endedIntakeSchema>['end']

/** A key, or so much of one that it gives something away; a fault may quote a value and cut it short. */
const KEY = /lw_[0-9A-Za-z]{4,}/g

/** The text with every key in it hidden. */
export const hideKeysInText = (text: string): string => text.replace(KEY, HIDDEN_KEY)

/**
 * A copy of a job's data with every key hidden: whatever is under the name `api_key`, and what looks like a key of
 * ours anywhere else, as when somebody mixed up two fields. The data must not nest too deep for JSON.stringify.
 */
export function hideKeys(data: unknown): unknown {
  const text = hideKeysInText(JSON.stringify(data) ?? 'null')
  return JSON.parse(text, (name, value: unknown) => (name === 'api_key' ? HIDDEN_KEY : value))
}
