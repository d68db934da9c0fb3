// Campaigns for those who import the client: asked for through the intake queue, looked at directly.
import type { z } from 'zod'
import type { CampaignDescription } from '../campaigns/commands/campaign-document.ts'
import { describeCampaign } from '../campaigns/commands/describe.ts'
import type { definitionSchema } from '../campaigns/definition.ts'
import { type CampaignState, hasEnded } from '../campaigns/states.ts'
import { findOwnCampaign } from '../campaigns/store/campaigns.ts'
import { intakeAnswers } from '../jobs/intake.ts'
import type { Asking } from './ask.ts'
import { type Connection, credentialFor } from './connection.ts'
import { LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
import type { WaitOptions } from './wait-options.ts'

/** Who gets which template from which sender. Rows of a file are uploaded over HTTP, to a producer's data folder. */
export type CampaignDefinition = z.input<typeof definitionSchema>

export interface CreateOptions extends WaitOptions {
  /** Asking again with it within 8 days creates no second one. */
  idempotencyKey?: string
}

/**
 * Every move resolves once the campaign is in the state that it asks for, also when it was so before, and rejects as
 * `send` does; with the code `wrong_state` when the move is not allowed in the state that the campaign is in.
 */
export interface Campaigns {
  /** Creates a draft and resolves to its id. */
  create(definition: CampaignDefinition, options?: CreateOptions): Promise<string>
  /** Begins to count, check and freeze the recipients; `waitFor` `ready` and `blocked` to learn what came of it. */
  preflight(id: string, options?: WaitOptions): Promise<void>
  schedule(id: string, at: Date, options?: WaitOptions): Promise<void>
  start(id: string, options?: WaitOptions): Promise<void>
  pause(id: string, options?: WaitOptions & { reason?: string }): Promise<void>
  resume(id: string, options?: WaitOptions): Promise<void>
  cancel(id: string, options?: WaitOptions): Promise<void>
  /** How it stands, with its figures. */
  show(id: string): Promise<CampaignDescription>
  /**
   * Waits until it is in one of these states. Rejects with LanewayTimeout (default 60 s), and with LanewayRefused as
   * soon as it has ended in another one.
   */
  waitFor(id: string, states: readonly CampaignState[], options?: WaitOptions): Promise<CampaignDescription>
}

const STATE_LIMIT_MS = 60_000
const FIRST_DELAY_MS = 50
const DELAY_GROWTH = 1.5
const LONGEST_DELAY_MS = 5_000

const movedSchema = intakeAnswers['campaign-start']

export function openCampaigns(connection: Connection, { askOne }: Asking, apiKey: string): Campaigns {
  const { redis } = connection

  /** Undefined while Redis is away. */
  const look = (id: string): Promise<CampaignDescription | undefined> =>
    connection.unlessAway(async () => {
      const { account } = await credentialFor(redis, apiKey, 'messages:read')
      const campaign = await findOwnCampaign(redis, account, id)
      if (!campaign) {
        throw new LanewayRefused({ code: 'not_found', message: `The campaign ${id} does not exist.`, details: [] })
      }
      return describeCampaign(redis, campaign, Date.now())
    })

  const mover =
    (name: 'campaign-preflight' | 'campaign-start' | 'campaign-resume' | 'campaign-cancel') =>
    async (id: string, { timeoutMs }: WaitOptions = {}): Promise<void> => {
      await askOne(name, movedSchema, { campaign_id: id }, timeoutMs)
    }

  return {
    async create(definition, { idempotencyKey, timeoutMs } = {}) {
      const request = { campaign: definition, idempotency_key: idempotencyKey }
      return (await askOne('campaign-create', movedSchema, request, timeoutMs)).campaign_id
    },
    preflight: mover('campaign-preflight'),
    async schedule(id, at, { timeoutMs } = {}) {
      await askOne('campaign-schedule', movedSchema, { campaign_id: id, at: at.toISOString() }, timeoutMs)
    },
    start: mover('campaign-start'),
    async pause(id, { reason, timeoutMs } = {}) {
      await askOne('campaign-pause', movedSchema, { campaign_id: id, reason }, timeoutMs)
    },
    resume: mover('campaign-resume'),
    cancel: mover('campaign-cancel'),

    async show(id) {
      const now = await look(id)
      if (!now) throw new LanewayUnavailable('Redis is away.')
      return now
    },

    async waitFor(id, states, { timeoutMs = STATE_LIMIT_MS } = {}) {
      const deadline = performance.now() + timeoutMs
      for (let delay = FIRST_DELAY_MS; ; delay = Math.min(delay * DELAY_GROWTH, LONGEST_DELAY_MS)) {
        const now = await look(id)
        if (now && states.includes(now.state)) return now
        const state = now === undefined ? 'not to be read: Redis is away' : now.state
        const message = `The campaign is ${state}.`
        if (now && hasEnded(now.state)) throw new LanewayRefused({ code: 'wrong_state', message, details: [] })
        if (performance.now() + delay > deadline) throw new LanewayTimeout(message)
        await connection.sleep(delay)
      }
    },
  }
}
