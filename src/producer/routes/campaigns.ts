// Campaigns: many people, one template. What creates one takes the header Idempotency-Key.
//
//   POST /campaigns                     create a draft              GET /campaigns            list, the latest first, ?state=
//   GET  /campaigns/{id}                show, with progress
//   POST /campaigns/{id}/rows           upload recipients (campaign-files.ts)
//   POST /campaigns/{id}/preflight      count, check and freeze the recipients, in the background
//   POST /campaigns/{id}/schedule       { at }
//   POST /campaigns/{id}/start
//   POST /campaigns/{id}/pause          { reason? }
//   POST /campaigns/{id}/resume         { class? }: go on; with a class, a new run for those recipients only
//   POST /campaigns/{id}/cancel
//   GET  /campaigns/{id}/export, /refused                           (campaign-files.ts)
import { z } from 'zod'
import type { CampaignId } from '../../campaigns/campaign-id.ts'
import { defineCampaign } from '../../campaigns/commands/create.ts'
import { describeCampaign, describeCampaigns } from '../../campaigns/commands/describe.ts'
import {
  cancelCampaign,
  checkCampaign,
  pauseCampaign,
  resumeCampaign,
  resumeClass,
  type SteerDeps,
  scheduleCampaign,
  startCampaign,
} from '../../campaigns/commands/lifecycle.ts'
import { RESUME_CLASSES } from '../../campaigns/definition.ts'
import { CAMPAIGN_STATES } from '../../campaigns/states.ts'
import { type Campaign, findCampaign, findOwnCampaign } from '../../campaigns/store/campaigns.ts'
import type { CampaignQueue } from '../../campaigns/store/queue.ts'
import type { Config } from '../../config.ts'
import { textUpTo } from '../../messages/bounded-text.ts'
import { notOneOf } from '../../messages/fault.ts'
import { instantSchema } from '../../messages/instant.ts'
import type { Redis } from '../../redis/connect.ts'
import { notFound } from '../errors.ts'
import { fieldsOf, offsetPageFields } from '../fields.ts'
import type { Access, Answer, Call, Route } from '../route.ts'

export interface CampaignDeps {
  redis: Redis
  config: Pick<Config, 'dataDir' | 'retentionMs'>
  campaigns: CampaignQueue
}

export const mayChange: Access = { in: 'bearer', permission: 'messages:send' }
export const mayLook: Access = { in: 'bearer', permission: 'messages:read' }

const scheduleBody = z.strictObject({ at: instantSchema.refine((at) => at > Date.now(), 'must be in the future') })
const listQuery = z.strictObject({
  ...offsetPageFields,
  /** One or several, separated by commas. */
  state: textUpTo(200)
    .transform((text, context) =>
      text.split(',').flatMap((word) => {
        const known = CAMPAIGN_STATES.find((state) => state === word.trim())
        if (known === undefined) context.addIssue(notOneOf(CAMPAIGN_STATES, word.trim()))
        return known ?? []
      }),
    )
    .optional(),
})
const noFields = z.strictObject({})
const pauseBody = z.strictObject({ reason: textUpTo(200).default('by hand') })
const resumeBody = z.strictObject({ class: z.enum(RESUME_CLASSES).optional() })

export function campaignRoutes({ redis, config, campaigns }: CampaignDeps): Route[] {
  const steer: SteerDeps = { redis, queue: campaigns, retentionMs: config.retentionMs }

  async function shown(id: CampaignId): Promise<object> {
    const campaign = await findCampaign(redis, id)
    if (!campaign) throw notFound('The campaign')
    return describeCampaign(redis, campaign, Date.now())
  }

  /** A move: does it and answers with the campaign as it is then. */
  const move = <S extends z.ZodType>(
    verb: string,
    message: string,
    schema: S,
    act: (campaign: Campaign, fields: z.output<S>) => Promise<void>,
  ): Route => ({
    method: 'post',
    path: `/campaigns/:id/${verb}`,
    access: mayChange,
    body: { as: 'json', mayBeAbsent: true },
    handle: async (call) => {
      const fields = fieldsOf(schema, call.body)
      const campaign = await ownCampaign(redis, call)
      await act(campaign, fields)
      return { body: { status: true, message, data: await shown(campaign) } }
    },
  })

  async function list(call: Call): Promise<Answer> {
    const { offset, limit, state: states } = fieldsOf(listQuery, call.query)
    const data = await describeCampaigns(redis, call.caller.account, { offset, limit, states })
    return { body: { status: true, message: 'campaigns', data } }
  }

  return [
    {
      method: 'post',
      path: '/campaigns',
      access: mayChange,
      body: { as: 'json' },
      handle: async ({ caller, body, header }) => {
        const request = { account: caller.account, body, idempotencyKey: header('idempotency-key') }
        const id = await defineCampaign(steer, request)
        return { status: 201, body: { status: true, message: 'created', data: await shown(id) } }
      },
    },
    { method: 'get', path: '/campaigns', access: mayLook, body: { as: 'ignored' }, handle: list },
    {
      method: 'get',
      path: '/campaigns/:id',
      access: mayLook,
      body: { as: 'ignored' },
      handle: async (call) => {
        const campaign = await ownCampaign(redis, call)
        return {
          body: { status: true, message: 'campaign', data: await describeCampaign(redis, campaign, Date.now()) },
        }
      },
    },
    move('preflight', 'checking', noFields, (campaign) => checkCampaign(steer, campaign)),
    move('schedule', 'scheduled', scheduleBody, (campaign, { at }) => scheduleCampaign(steer, campaign, at)),
    move('start', 'started', noFields, (campaign) => startCampaign(steer, campaign)),
    move('pause', 'paused', pauseBody, (campaign, { reason }) => pauseCampaign(steer, campaign, reason)),
    move('cancel', 'cancelled', noFields, (campaign) => cancelCampaign(steer, campaign)),
    {
      method: 'post',
      path: '/campaigns/:id/resume',
      access: mayChange,
      body: { as: 'json', mayBeAbsent: true },
      handle: async (call) => {
        const { class: only } = fieldsOf(resumeBody, call.body)
        const idempotencyKey = call.header('idempotency-key')
        const campaign = await ownCampaign(redis, call)
        if (only === undefined) await resumeCampaign(steer, campaign)
        const id = only === undefined ? campaign : await resumeClass(steer, campaign, only, idempotencyKey)
        return { body: { status: true, message: 'resumed', data: await shown(id) } }
      },
    },
  ]
}

/** The campaign of the path, when it is the caller's. */
export async function ownCampaign(redis: Redis, { params, caller }: Call): Promise<Campaign> {
  const campaign = await findOwnCampaign(redis, caller.account, params.id ?? '')
  if (!campaign) throw notFound('The campaign')
  return campaign
}
