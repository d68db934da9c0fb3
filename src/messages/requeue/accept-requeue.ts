// Turns a requeue request, over HTTP or from the command line, into the lanes, times and fields to search by.

import { existingSenders } from '../../accounts/named-senders.ts'
import { listSenders } from '../../accounts/senders.ts'
import { parseListedPerson } from '../../kernel/recipient.ts'
import { invalidFields } from '../../kernel/refusal.ts'
import { parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import type { Redis } from '../../redis/connect.ts'
import type { RequeueState } from './filter.ts'
import type { RequeueOrder } from './jobs.ts'

/** The request as it came; a missing field matches all. */
export interface RequeueRequest {
  /** Number in any spelling, name or id. */
  sender?: string | undefined
  to?: string | undefined
  /** A filter of searches. It matches nothing here: received messages are never sent. */
  from?: string | undefined
  direction?: 'outbound' | 'inbound' | undefined
  state?: RequeueState | undefined
  class?: 'transactional' | 'campaign' | undefined
  /** Id of a campaign of ours. */
  campaign?: string | undefined
  /** Grouping text of the requests. */
  campaign_id?: string | undefined
  /** The client's own text. */
  reference?: string | undefined
  code?: string | undefined
  /** Ended at or after, and at or before (epoch ms). */
  sinceMs?: number | undefined
  untilMs?: number | undefined
}

/**
 * Turns a request into an order, or throws a Refusal. Without an account it spans all. Messages that end at `nowMs` or later are excluded,
 * so that nothing that fails once more is sent again.
 */
export async function requeueOrder(
  redis: Redis,
  account: number | undefined,
  request: RequeueRequest,
  nowMs: number,
): Promise<RequeueOrder> {
  const { state, class: only, code, campaign_id, reference, sinceMs = 0, untilMs = nowMs } = request
  const to = request.to === undefined ? undefined : digitsOf('to', request.to)
  const campaign = request.campaign === undefined ? undefined : parseCampaignId(request.campaign)
  if (request.campaign !== undefined && campaign === undefined) throw noCampaignId()
  let senders = await listSenders(redis, account)
  if (request.sender !== undefined) senders = existingSenders(senders, request.sender, account)
  // Another account's campaign counts as one that does not exist: no message belongs to it.
  if (campaign) senders = senders.filter(({ id }) => id === campaign.lane)
  if (request.from !== undefined) digitsOf('from', request.from)
  if (request.from !== undefined || request.direction === 'inbound') senders = []
  return {
    lanes: senders.map(({ id }) => id),
    filter: {
      ...(state && { state }),
      ...(to && { to }),
      ...(only && { class: only }),
      ...(campaign_id !== undefined && { campaign_id }),
      ...(reference !== undefined && { reference }),
      ...(campaign && { run: campaign.number }),
      ...(code !== undefined && { code }),
    },
    sinceMs,
    untilMs: Math.min(untilMs, nowMs),
  }
}

/** For a filter by a campaign that is no id of one. */
export const noCampaignId = () =>
  invalidFields([
    {
      path: 'campaign',
      message: 'expected the id of a campaign such as cmp_1_2; the campaign_id of requests is another filter',
    },
  ])

/** The person of a filter, by a number in any spelling or as lists show them; throws a Refusal that names the field. */
export function digitsOf(path: string, text: string): string {
  const person = parseListedPerson(text)
  if (person !== undefined) return person
  throw invalidFields([{ path, message: 'expected a full international number such as +14155550123' }])
}
