// Campaigns for those who import the client.
import { LanewayRefused, LanewayTimeout } from './errors.ts'
import { ANSWER_LIMIT_MS, askOne, type Lifetime, type Transport, type WaitOptions } from './transport.ts'
import type { CampaignDefinition, CampaignDescription, CampaignState } from './types.ts'

/** How a campaign is created. The wait is 30 s unless `timeoutMs` says otherwise. */
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
  /** Begins to count, check and freeze the recipients; `waitFor` `ready` and `blocked` to learn the result. */
  preflight(id: string, options?: WaitOptions): Promise<void>
  schedule(id: string, at: Date, options?: WaitOptions): Promise<void>
  start(id: string, options?: WaitOptions): Promise<void>
  pause(id: string, options?: WaitOptions & { reason?: string }): Promise<void>
  resume(id: string, options?: WaitOptions): Promise<void>
  cancel(id: string, options?: WaitOptions): Promise<void>
  /** Its state and its figures. */
  show(id: string, options?: WaitOptions): Promise<CampaignDescription>
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

const ENDS: readonly CampaignState[] = ['done', 'cancelled']

/** The campaigns of a connected client. Every wait in them ends with LanewayUnavailable when `life` ends. */
export function openCampaigns(transport: Transport, life: Lifetime): Campaigns {
  const mover =
    (name: 'campaign-preflight' | 'campaign-start' | 'campaign-resume' | 'campaign-cancel') =>
    async (id: string, { timeoutMs }: WaitOptions = {}): Promise<void> => {
      await askOne(transport, name, { campaign_id: id }, timeoutMs)
    }

  return {
    async create(definition, { idempotencyKey, timeoutMs } = {}) {
      const request = { campaign: definition, idempotency_key: idempotencyKey }
      return (await askOne(transport, 'campaign-create', request, timeoutMs)).campaign_id
    },
    preflight: mover('campaign-preflight'),
    async schedule(id, at, { timeoutMs } = {}) {
      await askOne(transport, 'campaign-schedule', { campaign_id: id, at: at.toISOString() }, timeoutMs)
    },
    start: mover('campaign-start'),
    async pause(id, { reason, timeoutMs } = {}) {
      await askOne(transport, 'campaign-pause', { campaign_id: id, reason }, timeoutMs)
    },
    resume: mover('campaign-resume'),
    cancel: mover('campaign-cancel'),

    show: (id, { timeoutMs } = {}) => askOne(transport, 'campaign-show', { campaign_id: id }, timeoutMs),

    async waitFor(id, states, { timeoutMs = STATE_LIMIT_MS } = {}) {
      const deadline = performance.now() + timeoutMs
      for (let delay = FIRST_DELAY_MS; ; delay = Math.min(delay * DELAY_GROWTH, LONGEST_DELAY_MS)) {
        const limitMs = Math.max(1, Math.min(ANSWER_LIMIT_MS, deadline - performance.now()))
        const [reply] = await transport.ask('campaign-show', [{ campaign_id: id }], limitMs)
        if (reply?.ok && states.includes(reply.answer.state)) return reply.answer
        if (reply?.ok && ENDS.includes(reply.answer.state)) throw wrongState(reply.answer)
        if (reply?.ok === false && reply.error instanceof LanewayRefused) throw reply.error
        if (performance.now() + delay > deadline) {
          throw reply?.ok === false ? reply.error : new LanewayTimeout(`The campaign is ${reply?.answer.state}.`)
        }
        await life.sleep(delay)
      }
    },
  }
}

const wrongState = ({ state }: CampaignDescription): LanewayRefused =>
  new LanewayRefused({ code: 'wrong_state', message: `The campaign is ${state}.`, details: [] })
