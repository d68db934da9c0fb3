// Claiming messages of a campaign that nobody has claimed before, many in one step: almost all that a chunk has. What is
// not as plain as that, `claim` takes one by one, under the same attempt.
import type { Redis } from '../../redis/connect.ts'
import {
  campaignKey,
  campaignMarksKey,
  campaignPrefix,
  inDoubtKey,
  laneCooldownKey,
  laneSlotsKey,
  messageKey,
  messageWaitKey,
  recipientCooldownKey,
} from '../../redis/keys.ts'
import { acceptedAtMs } from '../message-id.ts'
import type { Pace } from '../pace.ts'
import { isSealing, nameOfPerson, sealText } from '../sealed.ts'
import { type Slot, slotOf } from './claim.ts'
import { defineMessageScript } from './message-script.ts'
import { filledField, type NewMessage, sharedRecordFields } from './record-format.ts'

const freshScript = defineMessageScript(import.meta.url, 'message-claim-fresh')

/** Most messages of one step: Redis serves nobody else meanwhile. */
export const MOST_FRESH = 100

/** A message to claim, and where its recipient stands in the list. */
export interface FreshClaim {
  ulid: string
  place: number
  attempt: string
  message: NewMessage & { filled: readonly string[] }
}

/** What became of one: `other` is to be claimed by itself; `too_early`: its slot would be too far ahead, for `waitMs`. */
export type FreshResult = { verdict: 'claimed'; slot: Slot } | { verdict: 'too_early'; waitMs: number } | 'other'

/**
 * Claims up to MOST_FRESH messages of campaign `run`, whose records all hold the same but for recipient and what is
 * filled in. Send those that are `claimed`, in their slots. `stopped`: the campaign does not run, and nothing was written;
 * `laneMs`: the same, the lane is in a cooldown for so long. Rejects when Redis is away or full: then nothing may be sent.
 */
export async function claimFresh(
  redis: Redis,
  { lane, run }: { lane: number; run: number },
  claims: readonly FreshClaim[],
  times: { lostAfterMs: number; retentionMs: number },
  { gapUs, closestUs, window, aheadUs }: Pace,
): Promise<'stopped' | { laneMs: number } | FreshResult[]> {
  const [first] = claims
  if (first === undefined) return []
  const reply = await freshScript(
    redis,
    {
      inDoubt: inDoubtKey(lane),
      laneCooldown: laneCooldownKey(lane),
      slots: laneSlotsKey(lane),
      campaign: campaignKey(lane, run),
      marks: campaignMarksKey(lane, run),
    },
    {
      ...{ ...times, campaigns: campaignPrefix(lane), run, acceptedAt: acceptedAtMs(first.ulid) },
      ...{ validUntil: first.message.validUntil, aheadUs: aheadUs[first.message.class] },
      records: messageKey(lane, ''),
      cooldowns: recipientCooldownKey(lane, ''),
      waits: messageWaitKey(lane, ''),
      shared: sharedRecordFields(first.message),
      ulids: claims.map(({ ulid }) => ulid),
      places: claims.map(({ place }) => place),
      attempts: claims.map(({ attempt }) => attempt),
      recipients: claims.map(({ message }) => sealText(message.to)),
      filled: claims.map(({ message }) => filledField(message.filled)),
      pace: { gapUs, closestUs, window },
      names: isSealing() ? claims.map(({ message }) => nameOfPerson(message.to)) : undefined,
    },
  )
  return read(reply, claims.length)
}

/** Checked by hand: there is a line for each message, and a schema took as long for it as packing the claims. */
function read(reply: unknown, count: number): 'stopped' | { laneMs: number } | FreshResult[] {
  const [verdict, detail, ...each]: unknown[] = Array.isArray(reply) ? reply : []
  if (verdict === 'stopped') return verdict
  if (verdict === 'lane_cooldown' && typeof detail === 'number') return { laneMs: detail }
  const nowUs = Number(detail)
  if (verdict !== 'done' || !Number.isSafeInteger(nowUs))
    throw new Error('the claims of a chunk were answered with neither')
  if (each.length !== count) throw new Error(`asked for ${count} claims, heard of ${each.length}`)
  return each.map((one): FreshResult => {
    if (one === 'other') return one
    if (typeof one === 'number') return { verdict: 'too_early', waitMs: one }
    if (typeof one !== 'string' || !/^\d+$/.test(one)) throw new Error('a claim of a chunk was answered with no slot')
    return { verdict: 'claimed', slot: slotOf(one, nowUs) }
  })
}
