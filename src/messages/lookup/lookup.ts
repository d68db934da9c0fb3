// One message by our id, wherever it is: its record, else its unclaimed job, else its place in the list of a running campaign.

import type { Sender } from '../../accounts/senders.ts'
import { type SendPayload, textOfPayload } from '../../jobs/send.ts'
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { archiveOf, type KeptMessage } from '../../lanes/archive/archive.ts'
import { payloadText, readJob } from '../../lanes/jobs.ts'
import { campaignId } from '../../model/campaigns/campaign-id.ts'
import { HISTORY } from '../../model/messages/history.ts'
import { type State, shownState } from '../../model/messages/lifecycle.ts'
import { deadLetter } from '../../model/messages/own-problems.ts'
import { campaignText } from '../../recipients/campaign-content.ts'
import { findUnclaimed, type ListSettings } from '../../recipients/unclaimed-message.ts'
import type { Redis } from '../../redis/connect.ts'
import { readRecord } from '../../redis/records.ts'

/** One message as lookups show it. Times are epoch ms; `state` is the shown one, see lifecycle.ts. */
export interface FoundMessage {
  id: MessageId
  state: State
  type: KeptMessage['type']
  text: string
  to: string
  class: KeptMessage['class']
  /** Grouping text of its request. */
  groupedAs: string | undefined
  /** The client's own text. */
  reference: string | undefined
  /** Id of the campaign of ours that it belongs to. */
  campaign: string | undefined
  acceptedAtMs: number
  /** When the provider took it; undefined before. */
  sentAtMs: number | undefined
  validUntil: number
  /** Not sent before; undefined when it was not put off. */
  sendAt: number | undefined
  problem: { code: string; sentence: string } | undefined
  /** Only once it was claimed. */
  record: KeptMessage | undefined
}

/** A message by its id. The lane must have been checked to belong to the account that asks. */
export async function findMessage(
  redis: Redis,
  id: MessageId,
  nowMs: number,
  lists: ListSettings,
): Promise<FoundMessage | undefined> {
  const record = await recordOf(redis, id)
  if (record) return ofRecord(redis, id, record, nowMs)
  const waiting = await ofJob(redis, id, nowMs)
  if (waiting) return waiting
  const unclaimed = await findUnclaimed(redis, id, lists)
  if (unclaimed) return ofPayload(redis, id, unclaimed, nowMs, false)
  // Claimed and finished between the reads: then the record exists by now.
  const later = await recordOf(redis, id)
  return later ? ofRecord(redis, id, later, nowMs) : undefined
}

async function recordOf(redis: Redis, { lane, ulid }: MessageId): Promise<KeptMessage | undefined> {
  const [record] = await archiveOf(redis).find({ lane, ulids: [ulid] })
  if (record instanceof Error) throw record
  return record
}

async function ofRecord(redis: Redis, id: MessageId, record: KeptMessage, nowMs: number): Promise<FoundMessage> {
  return {
    id,
    state: shownState({ ...record, state: nowOf(record.state, record.validUntil, nowMs) }),
    type: record.type,
    text: (await campaignText(redis, id.lane, record)) ?? record.text,
    to: record.to,
    class: record.class,
    groupedAs: record.campaign,
    reference: record.reference,
    campaign: campaignOf(id, record.run),
    acceptedAtMs: acceptedAtMs(id.ulid),
    sentAtMs: record.history.find(
      ({ code }) => code === HISTORY.sent || code === HISTORY.delivered || code === HISTORY.read,
    )?.atMs,
    validUntil: record.validUntil,
    sendAt: record.sendAt,
    problem: record.problem,
    record,
  }
}

async function ofJob(redis: Redis, id: MessageId, nowMs: number): Promise<FoundMessage | undefined> {
  const name = messageId(id.lane, id.ulid)
  const { text, isDead } = await readJob(redis, id.lane, name)
  if (text === null) return undefined
  return ofPayload(redis, id, readRecord(payloadText, `job ${name}`, text), nowMs, isDead)
}

/** An unclaimed message. `isDead`: its job is a dead letter. */
async function ofPayload(
  redis: Redis,
  id: MessageId,
  payload: SendPayload,
  nowMs: number,
  isDead: boolean,
): Promise<FoundMessage> {
  return {
    id,
    state: isDead ? 'failed' : nowOf('queued', payload.until, nowMs),
    type: payload.content.type,
    text: (await campaignText(redis, id.lane, payload)) ?? textOfPayload(payload),
    to: payload.to,
    class: payload.class,
    groupedAs: payload.campaign,
    reference: payload.reference,
    campaign: campaignOf(id, payload.run),
    acceptedAtMs: acceptedAtMs(id.ulid),
    sentAtMs: undefined,
    validUntil: payload.until,
    sendAt: payload.sendAt,
    problem: isDead ? deadLetter : undefined,
    record: undefined,
  }
}

const campaignOf = ({ lane }: MessageId, run: number | undefined): string | undefined =>
  run === undefined ? undefined : campaignId({ lane, number: run })

/** A queued message past its validity is shown as expired before any step records it. */
const nowOf = (state: State, validUntil: number, nowMs: number): State =>
  state === 'queued' && validUntil <= nowMs ? 'expired' : state

/** The word of a lookup's `info` for a delivery state. */
export function infoStatus(state: State): 'success' | 'pending' | 'failed' | 'unknown' {
  switch (state) {
    case 'sent':
    case 'delivered':
    case 'read':
      return 'success'
    case 'queued':
    case 'sending':
    case 'unconfirmed':
      return 'pending'
    case 'failed':
    case 'expired':
    case 'cancelled':
      return 'failed'
    case 'unknown':
      return 'unknown'
  }
}

/** Whether a lane's sender belongs to the account. */
export const owns = (sender: Sender | undefined, account: number): sender is Sender => sender?.account === account
