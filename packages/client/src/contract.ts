// The contract of client and service beyond types: the intake queue, and what an answer must have. The service has its own
// schemas in src/jobs/intake.ts, because the two are released apart; test/unit/client-contract.test.ts keeps them equal.
import type { CampaignDescription, CampaignState, IntakeAnswers, IntakeJob, MessageState, Refusal } from './types.ts'

/** Its braces keep all its keys on one server of a cluster. */
export const INTAKE_QUEUE = '{laneway-intake}'
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
] as const satisfies readonly MessageState[]

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
] as const satisfies readonly CampaignState[]

/** The members of an object from outside; none of anything else. */
export const membersOf = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

const isOneOf = <T extends string>(words: readonly T[], value: unknown): value is T =>
  words.some((word) => word === value)

function isCampaignNow(value: unknown): value is IntakeAnswers['campaign-start'] {
  const { campaign_id, state } = membersOf(value)
  return typeof campaign_id === 'string' && isOneOf(CAMPAIGN_STATES, state)
}

/**
 * Whether an answer is what its job promises. Fields that a later release adds do no harm. A campaign's description is
 * checked only as far as it takes to recognise one; its figures are passed on as they came.
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
