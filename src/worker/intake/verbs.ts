// The handlers of intake jobs by name, and the permission that each key needs. To add one: its name and schema in src/jobs/intake.ts, its
// line here, its section in docs/reference/jobs.md.

import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Permission } from '../../accounts/credentials.ts'
import { defineCampaign } from '../../campaigns/commands/create.ts'
import { describeCampaign } from '../../campaigns/commands/describe.ts'
import {
  cancelCampaign,
  checkCampaign,
  type LifecycleDeps,
  pauseCampaign,
  resumeCampaign,
  scheduleCampaign,
  startCampaign,
} from '../../campaigns/commands/moves.ts'
import type { IntakeContract, IntakeJob, intakeAnswers } from '../../jobs/intake.ts'
import { fieldNamesOf } from '../../kernel/field-names.ts'
import { parsePerson } from '../../kernel/recipient.ts'
import { doesNotExist, invalidFields, Refusal } from '../../kernel/refusal.ts'
import { faultsOf } from '../../kernel/zod-faults.ts'
import { type AcceptDeps, acceptMessage } from '../../messages/accept/accept-message.ts'
import { sendKindOf } from '../../messages/accept/read-send.ts'
import { deliveryOf, findOwnMessage } from '../../messages/lookup/own-message.ts'
import type { Tombstones } from '../../people/tombstones.ts'
import { type Campaign, findOwnCampaign, idOf } from '../../recipients/campaigns.ts'
import type { ListSettings } from '../../recipients/unclaimed-message.ts'
import type { Redis } from '../../redis/connect.ts'

/** Dependencies of intake jobs, besides those of accepting a message. */
export interface VerbDeps extends AcceptDeps {
  tombstones: Tombstones
  lifecycle: LifecycleDeps
  config: AcceptDeps['config'] & ListSettings
}

/** A job with a valid key. */
export interface CheckedJob {
  id: string
  /** When it was added (epoch ms); does not change when it is run again. */
  addedAtMs: number
  account: number
  data: object
  contract: IntakeContract
}

/** The handler of one kind of intake job, and the permission that its key needs. */
export interface IntakeVerb<J extends IntakeJob> {
  permission: Permission
  /** Executes it and resolves to the answer, or throws a Refusal. Idempotent. */
  run: (deps: VerbDeps, job: CheckedJob) => Promise<z.input<(typeof intakeAnswers)[J]>>
}

/** A job's data parsed by the schema, or a Refusal with all its faults. */
export function read<S extends z.ZodType>(schema: S, data: object): z.output<S> {
  const parsed = schema.safeParse(data)
  if (!parsed.success) throw invalidFields(faultsOf(parsed.error, data, '', fieldNamesOf(schema)))
  return parsed.data
}

/**
 * The default idempotency key of a job: a job that runs twice, as after a crash, makes one message. It contains the time when the job was
 * added, because BullMQ restarts its job ids from 1 after a queue was obliterated.
 */
export const keyOf = (job: CheckedJob): string =>
  `job:${createHash('sha256').update(`${job.id}\n${job.addedAtMs}`).digest('base64url')}`

type CampaignJobName = Extract<IntakeJob, `campaign-${string}`>

const campaignVerbs: { [J in CampaignJobName]: IntakeVerb<J> } = {
  'campaign-create': { permission: 'messages:send', run: create },
  'campaign-preflight': verb(
    (contract) => contract['campaign-preflight'],
    ({ lifecycle }, campaign) => checkCampaign(lifecycle, campaign),
  ),
  'campaign-schedule': verb(
    (contract) => contract['campaign-schedule'],
    ({ lifecycle }, campaign, { at }) => {
      return scheduleCampaign(lifecycle, campaign, at)
    },
  ),
  'campaign-start': verb(
    (contract) => contract['campaign-start'],
    ({ lifecycle }, campaign) => startCampaign(lifecycle, campaign),
  ),
  'campaign-pause': verb(
    (contract) => contract['campaign-pause'],
    ({ lifecycle }, campaign, { reason }) => pauseCampaign(lifecycle, campaign, reason),
  ),
  'campaign-resume': verb(
    (contract) => contract['campaign-resume'],
    ({ lifecycle }, campaign) => resumeCampaign(lifecycle, campaign),
  ),
  'campaign-cancel': verb(
    (contract) => contract['campaign-cancel'],
    ({ lifecycle }, campaign) => cancelCampaign(lifecycle, campaign),
  ),
  'campaign-show': {
    permission: 'messages:read',
    async run({ redis }, job) {
      const { campaign_id } = read(job.contract['campaign-show'], job.data)
      return describeCampaign(redis, await ownCampaign(redis, job.account, campaign_id))
    },
  },
}

/** Creates a draft. */
async function create({ redis, lifecycle }: VerbDeps, job: CheckedJob) {
  const { campaign, idempotency_key } = read(job.contract['campaign-create'], job.data)
  const request = { account: job.account, body: campaign, idempotencyKey: idempotency_key || keyOf(job) }
  return stateOf(redis, job.account, idOf(await defineCampaign(lifecycle, request)))
}

/** A move of a campaign. */
function verb<S extends z.ZodType<{ campaign_id: string }>>(
  schemaOf: (contract: IntakeContract) => S,
  move: (deps: VerbDeps, campaign: Campaign, fields: z.output<S>) => Promise<void>,
) {
  return {
    permission: 'messages:send' as const,
    async run(deps: VerbDeps, job: CheckedJob) {
      const fields = read(schemaOf(job.contract), job.data)
      await move(deps, await ownCampaign(deps.redis, job.account, fields.campaign_id), fields)
      return stateOf(deps.redis, job.account, fields.campaign_id)
    },
  }
}

async function ownCampaign(redis: Redis, account: number, name: string): Promise<Campaign> {
  const campaign = await findOwnCampaign(redis, account, name)
  if (!campaign) throw doesNotExist('The campaign')
  return campaign
}

async function stateOf(redis: Redis, account: number, name: string) {
  const { state } = await ownCampaign(redis, account, name)
  return { campaign_id: name, state }
}

/** The job was written before the person was erased. */
export const PERSON_ERASED = 'person_erased'

/**
 * A job from before the person's erasure is not sent; a later one is. A process that dies after this check accepts the message again under
 * its key, or not at all.
 */
async function refuseErased({ tombstones }: VerbDeps, { account, addedAtMs }: CheckedJob, to: unknown): Promise<void> {
  const person = typeof to === 'string' ? parsePerson(to) : undefined
  if (person === undefined || !(await tombstones.erasedOf(account, [person], addedAtMs)).has(person)) return
  throw new Refusal('overtaken', PERSON_ERASED, 'The recipient was erased after the job was written.')
}

export const intakeVerbs: { [J in IntakeJob]: IntakeVerb<J> } = {
  ...campaignVerbs,
  send: {
    permission: 'messages:send',
    async run(deps, job) {
      const { message, idempotency_key, traceparent } = read(job.contract.send, job.data)
      await refuseErased(deps, job, message.to)
      const { id } = await acceptMessage(deps, {
        account: job.account,
        kind: sendKindOf(message),
        body: message,
        unknownFields: 'refused',
        idempotencyKey: idempotency_key || keyOf(job),
        traceparent,
      })
      return { message_id: id }
    },
  },
  status: {
    permission: 'messages:read',
    async run(deps, job) {
      const { message_id } = read(job.contract.status, job.data)
      const found = await findOwnMessage(deps.redis, job.account, message_id, Date.now(), deps.config)
      if (!found) throw doesNotExist('The message')
      return deliveryOf(found)
    },
  },
}
