// The jobs of the queue `laneway-intake`, through which other services ask for work without HTTP. Any BullMQ client in
// any language writes them, so this is a contract like that of the HTTP interface: docs/jobs.md is its reference.
//
//   send                  { v: 1, api_key, message, idempotency_key? }   message: body of a send endpoint, no api_key
//   status                { v: 1, api_key, message_id }
//   campaign-create       { v: 1, api_key, campaign, idempotency_key? }  campaign: body of POST /campaigns
//   campaign-schedule     { v: 1, api_key, campaign_id, at }
//   campaign-pause        { v: 1, api_key, campaign_id, reason? }
//   campaign-preflight, campaign-start, campaign-resume, campaign-cancel, campaign-show    { v: 1, api_key, campaign_id }
import { z } from 'zod'
import { textUpTo } from '../messages/bounded-text.ts'
import { CAMPAIGN_STATES } from '../messages/campaign-states.ts'
import { type Fault, notOneOf } from '../messages/fault.ts'
import { STATES } from '../messages/states.ts'

export const INTAKE_QUEUE = 'laneway-intake'
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
const ofCampaign = z.object({ campaign_id: z.string() })

const versionOne = {
  send: z.object({
    /** The type decides what else there must be, so it is judged first. */
    message: z.looseObject({ type: z.enum(['interactive', 'image', 'audio', 'template']) }),
    idempotency_key: idempotencyKey,
  }),
  status: z.object({ message_id: z.string() }),
  'campaign-create': z.object({ campaign: z.looseObject({}), idempotency_key: idempotencyKey }),
  'campaign-preflight': ofCampaign,
  'campaign-schedule': ofCampaign.extend({
    at: z.iso
      .datetime({ offset: true, error: 'expected an ISO 8601 time with its zone, such as 2026-01-31T12:00:00Z' })
      .transform((time) => Date.parse(time)),
  }),
  'campaign-start': ofCampaign,
  'campaign-pause': ofCampaign.extend({ reason: textUpTo(200).default('by hand') }),
  'campaign-resume': ofCampaign,
  'campaign-cancel': ofCampaign,
  'campaign-show': ofCampaign,
} satisfies Record<IntakeJob, z.ZodType>

/** What each job holds beside `v` and `api_key`, as the newest version has it. */
export type IntakeContract = typeof versionOne

/**
 * The versions that are read. Jobs wait while Laneway is updated and clients are updated after it, so a version stays
 * here when its successor comes: its schemas then end in a transform to the newest shape, and nothing else knows it.
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

/** What a finished job holds as its return value, by the name of the job. */
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
export type IntakeRefusal = z.infer<typeof intakeRefusalSchema>

/** Stands where the key was, in every job that has ended. */
export const HIDDEN_KEY = '•••'

/**
 * The data of a job that has ended: without its key, and with its end, so that a job that is run once more, because the
 * worker died before BullMQ heard of the end, ends the same way.
 */
export const endedIntakeSchema = z.object({
  api_key: z.literal(HIDDEN_KEY),
  end: z.union([z.object({ answer: z.looseObject({}) }), z.object({ refusal: intakeRefusalSchema })]),
})
export type IntakeEnd = z.infer<typeof endedIntakeSchema>['end']
