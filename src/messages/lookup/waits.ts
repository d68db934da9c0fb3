// Why a queued message has not been sent yet.

import { cachedSender } from '../../accounts/senders.ts'
import { iso } from '../../kernel/instant.ts'
import { type MessageId, messageId } from '../../kernel/message-id.ts'
import { nameOfPerson } from '../../kernel/sealed.ts'
import { delayedUntil, laneBacklogKeys } from '../../lanes/bullmq/layout.ts'
import { laneWaits } from '../../lanes/cooldown.ts'
import { payloadText, readJob } from '../../lanes/jobs.ts'
import { readLaneStats } from '../../lanes/stats.ts'
import { parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import type { MessageClass } from '../../model/messages/content.ts'
import type { Names } from '../../model/people/person.ts'
import { namesOf } from '../../people/names/names.ts'
import { whyCampaignsWait, whyTransactionalWaits } from '../../portfolios/campaign-waits.ts'
import { cappedUntil } from '../../portfolios/caps.ts'
import { type RulesOwner, rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { isMarketingNow } from '../../recipients/message-marketing.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignFilesWaitKey, laneCooldownKey, messageWaitKey, recipientCooldownKey } from '../../redis/keys.ts'
import type { WAIT_REASONS } from './message-schema.ts'

/** Why a queued message does not leave yet. */
export interface Waits {
  why: (typeof WAIT_REASONS)[number]
  /** When that ends (epoch ms); null when it is not known. */
  until: number | null
  /** The same for a person, in one sentence without numbers of people. */
  sentence: string
}

/** A message that is `queued`. */
interface Waiting {
  id: MessageId
  to: string
  class: MessageClass
  type?: string
  sendAt?: number | undefined
  campaign?: string | undefined
  record?: { payload?: string | undefined } | undefined
}

/**
 * Why a queued message waits, the strongest reason first; null when only a worker's moment is missing, or it waits between two tries. For
 * queued messages only.
 */
export async function waitsOf(redis: Redis, message: Waiting): Promise<Waits | null> {
  const { lane } = message.id
  const now = await redisNowMs(redis, laneCooldownKey(lane))
  const { sendAt = 0 } = message
  if (sendAt > now) return { why: 'send_at', until: sendAt, sentence: `It is to be sent at ${iso(sendAt)}.` }
  const lanes = await laneWaits(redis, lane, now)
  if (lanes) return lanes
  const sender = await cachedSender(redis, lane)
  const names = sender === undefined ? [message.to] : await namesOf(redis, sender.account, message.to)
  const rule = sender && (await ruleWaits(redis, await rulesOwnerOf(redis, sender), names, sender.account, message))
  if (rule) return rule
  const file = await fileWaits(redis, message, now)
  if (file) return file
  return (await recipientCooldown(redis, message, names, now)) ?? (await pace(redis, lane, sender?.rate))
}

/** WhatsApp's own rules, see portfolios/rules.ts. */
async function ruleWaits(
  redis: Redis,
  owner: RulesOwner,
  names: Names,
  account: number,
  message: Waiting,
): Promise<Waits | undefined> {
  const { class: of, type } = message
  if (of !== 'campaign' && type !== 'template') return undefined
  const [[capped], others] = await Promise.all([
    cappedUntil(redis, owner, [names]),
    of === 'campaign' ? whyCampaignsWait(redis, owner) : whyTransactionalWaits(redis, owner),
  ])
  if (capped === undefined || !(await isMarketing(redis, account, message))) return others
  const sentence = `The person has had enough marketing; WhatsApp takes the next at ${iso(capped)}.`
  return { why: 'person_capped', until: capped, sentence }
}

async function isMarketing(redis: Redis, account: number, { id, campaign, record, ...of }: Waiting): Promise<boolean> {
  const { lane, ulid } = id
  const run = campaign === undefined ? undefined : parseCampaignId(campaign)?.number
  const text = record?.payload ?? (run === undefined ? (await readJob(redis, lane, messageId(lane, ulid))).text : null)
  const content = payloadText.safeParse(text).data?.content
  return isMarketingNow(redis, { account, lane }, { ...of, run, content })
}

/** A file of the gallery that the provider does not have yet; a campaign's message may wait with all others of it. */
async function fileWaits(
  redis: Redis,
  { id, campaign }: { id: MessageId; campaign?: string | undefined },
  now: number,
): Promise<Waits | undefined> {
  const ours = campaign === undefined ? undefined : parseCampaignId(campaign)
  const keys = [messageWaitKey(id.lane, id.ulid), ...(ours ? [campaignFilesWaitKey(id.lane, ours.number)] : [])]
  for (const key of keys) {
    const [why, ...sentence] = ((await redis.get(key)) ?? '').split('|')
    if (why !== 'file_upload') continue
    const ms = await redis.pttl(key)
    return { why, until: ms > 0 ? now + ms : null, sentence: sentence.join('|') }
  }
  return undefined
}

async function recipientCooldown(
  redis: Redis,
  { id }: { id: MessageId },
  [person = '']: Names,
  now: number,
): Promise<Waits | undefined> {
  const cooldown = await redis.get(recipientCooldownKey(id.lane, nameOfPerson(person)))
  if (cooldown === null) return undefined
  const [end = 0, next = 0] = cooldown.split(' ').map(Number)
  const turn = await ownTurn(redis, id)
  const until = turn ?? Math.max(end, next)
  // An expired cooldown that is still stored only counts how often there was one.
  if (until <= now) return undefined
  const sentence = `WhatsApp takes no more messages to this recipient for now; its turn is at ${iso(until)}.`
  return { why: 'recipient_cooldown', until, sentence }
}

/** When the job of the message itself is due; undefined when it is not delayed. */
async function ownTurn(redis: Redis, { lane, ulid }: MessageId): Promise<number | undefined> {
  const { delayed } = laneBacklogKeys(lane)
  const score = await redis.zscore(delayed, messageId(lane, ulid))
  return score === null ? undefined : Math.floor(delayedUntil(score))
}

async function pace(redis: Redis, lane: number, rate: number | undefined): Promise<Waits | null> {
  const { waiting, places } = await readLaneStats(redis, lane)
  const all = waiting.transactional + waiting.campaign + places
  if (all === 0 || rate === undefined) return null
  const sentence = `${all} ${all === 1 ? 'message waits' : 'messages wait'} for this sender, which sends ${rate} a second.`
  return { why: 'pace', until: null, sentence }
}
