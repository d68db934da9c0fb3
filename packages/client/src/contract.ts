// What client and service agree on: the jobs of the intake queue, what they hold, and how they end. docs/reference/jobs.md is the
// reference. The service has its own reading of it in src/jobs/intake.ts, because the two are released apart and neither
// ships the other; test/unit/client-contract.test.ts, and the compiler with it, holds the two equal.
import type { CampaignDefinition, CampaignDescription } from './campaign.ts'

/** Its braces keep all its keys on one server of a cluster. */
export const INTAKE_QUEUE = '{laneway-intake}'
/** Its name before there were clusters. Services of this release read both, those before it only this one. */
export const FORMER_INTAKE_QUEUE = 'laneway-intake'
/** BullMQ's own default. */
export const INTAKE_PREFIX = 'bull'
export const INTAKE_VERSION = 1

export const MESSAGE_STATES = [
  'queued',
  'sending',
  'unconfirmed',
  'sent',
  'delivered',
  'read',
  'failed',
  'expired',
  'cancelled',
  'unknown',
] as const
export type MessageState = (typeof MESSAGE_STATES)[number]

export const CAMPAIGN_STATES = [
  'draft',
  'checking',
  'ready',
  'blocked',
  'scheduled',
  'running',
  'paused',
  'done',
  'cancelled',
] as const
export type CampaignState = (typeof CAMPAIGN_STATES)[number]

interface OfCampaign {
  campaign_id: string
}

/** What each job holds beside `v` and `api_key`. */
export interface IntakeRequests {
  send: {
    message: Record<string, unknown>
    idempotency_key?: string | undefined
    /** W3C Trace Context. One that is none is ignored. */
    traceparent?: string | undefined
  }
  status: { message_id: string }
  'campaign-create': { campaign: CampaignDefinition; idempotency_key?: string | undefined }
  'campaign-preflight': OfCampaign
  /** `at`: ISO 8601 with its zone. */
  'campaign-schedule': OfCampaign & { at: string }
  'campaign-start': OfCampaign
  'campaign-pause': OfCampaign & { reason?: string | undefined }
  'campaign-resume': OfCampaign
  'campaign-cancel': OfCampaign
  'campaign-show': OfCampaign
}
export type IntakeJob = keyof IntakeRequests

interface CampaignNow {
  campaign_id: string
  state: CampaignState
}

/** How each job that was done is answered. */
export interface IntakeAnswers {
  send: { message_id: string }
  status: { status: MessageState; error_message: string | null }
  'campaign-create': CampaignNow
  'campaign-preflight': CampaignNow
  'campaign-schedule': CampaignNow
  'campaign-start': CampaignNow
  'campaign-pause': CampaignNow
  'campaign-resume': CampaignNow
  'campaign-cancel': CampaignNow
  'campaign-show': CampaignDescription
}

/** Why a job, or a request, was refused. */
export interface Refusal {
  /** Snake case, as in the error answers over HTTP. */
  code: string
  /** One sentence for a person. */
  message: string
  /** Every fault, each with the path of its field. */
  details: { path: string; message: string }[]
}

/** The members of an object from outside; none of anything else. */
export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

const isOneOf = <T extends string>(words: readonly T[], value: unknown): value is T =>
  words.some((word) => word === value)

function isCampaignNow(value: unknown): value is CampaignNow {
  const { campaign_id, state } = membersOf(value)
  return typeof campaign_id === 'string' && isOneOf(CAMPAIGN_STATES, state)
}

/**
 * Whether an answer is what its job promises. Fields that a later release adds do no harm. Of a campaign's description
 * it looks at what distinguishes it from anything else; its figures are passed on as they came.
 */
export const isAnswer: { [J in IntakeJob]: (value: unknown) => value is IntakeAnswers[J] } = {
  send: (value): value is IntakeAnswers['send'] => typeof membersOf(value).message_id === 'string',
  status: (value): value is IntakeAnswers['status'] => {
    const { status, error_message } = membersOf(value)
    return isOneOf(MESSAGE_STATES, status) && (error_message === null || typeof error_message === 'string')
  },
  'campaign-create': isCampaignNow,
  'campaign-preflight': isCampaignNow,
  'campaign-schedule': isCampaignNow,
  'campaign-start': isCampaignNow,
  'campaign-pause': isCampaignNow,
  'campaign-resume': isCampaignNow,
  'campaign-cancel': isCampaignNow,
  'campaign-show': (value): value is CampaignDescription => {
    const { id, state, progress } = membersOf(value)
    return typeof id === 'string' && isOneOf(CAMPAIGN_STATES, state) && typeof membersOf(progress).total === 'number'
  },
}

/** The refusal in an object with these fields; undefined when it is none. */
export function readRefusal(value: unknown): Refusal | undefined {
  const { code, message, details } = membersOf(value)
  if (typeof code !== 'string' || typeof message !== 'string') return undefined
  const faults = Array.isArray(details) ? details.map(membersOf) : []
  return {
    code,
    message,
    details: faults.map((fault) => ({ path: String(fault.path ?? ''), message: String(fault.message ?? '') })),
  }
}
