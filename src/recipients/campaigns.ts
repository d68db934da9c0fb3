// Campaign records: one hash each, on the same Redis slot as the lane's messages, so that one step claims a message and counts it here.
// Every change of state is one Lua step that checks from which states it is allowed.
import { z } from 'zod'
import { type CampaignId, campaignId, parseCampaignId } from '../model/campaigns/campaign-id.ts'
import { preflightSchema, storedDefinitionSchema } from '../model/campaigns/definition.ts'
import { CAMPAIGN_MOVES, CAMPAIGN_STATES, type CampaignMove } from '../model/campaigns/lifecycle.ts'
import { ENTRY } from '../model/events/outbox-entry.ts'
import { templateSchema } from '../model/templates/template.ts'
import type { Redis } from '../redis/connect.ts'
import {
  activeCampaignsKey,
  campaignCountsKey,
  campaignKey,
  campaignRepliedKey,
  campaignsOfAccountKey,
  laneClosedKey,
  outboxKey,
  placesKey,
  recipientStatesKey,
  rootKeys,
  turnsKey,
} from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { createListed, isThere, jsonText, nextId, readRecord } from '../redis/records.ts'
import { addCampaignLane } from './active-campaigns.ts'

const optionalTime = z.coerce.number().int().optional()
const rate = z.coerce.number().nonnegative()

export const campaignSchema = z.object({
  account: z.coerce.number().int().positive(),
  lane: z.coerce.number().int().positive(),
  number: z.coerce.number().int().positive(),
  state: z.enum(CAMPAIGN_STATES),
  /** Counts the jobs begun for it; a job of an earlier epoch stops. */
  epoch: z.coerce.number().int().default(0),
  definition: jsonText.pipe(storedDefinitionSchema),
  /** Why it is paused; empty unless it is. */
  reason: z.string().default(''),
  /** Times are epoch ms, on the clock of Redis. */
  created_at: z.coerce.number().int(),
  scheduled_at: optionalTime,
  started_at: optionalTime,
  resumed_at: optionalTime,
  ended_at: optionalTime,
  /** Starts as soon as it is ready: a new run for some recipients of an earlier campaign. */
  starts_itself: z
    .enum(['0', '1'])
    .default('0')
    .transform((flag) => flag === '1'),
  /** How often its latest preflight was started; starts that were stopped in order are not counted. */
  preflight_starts: z.coerce.number().int().default(0),
  /** File of uploaded rows and folder of frozen recipients, names inside the campaign's folder. */
  rows_file: z.string().default(''),
  snapshot: z.string().default(''),
  /** The result of the latest preflight. */
  preflight: jsonText.pipe(preflightSchema).optional(),
  /** The approved template as it was at preflight. */
  template: jsonText.pipe(templateSchema).optional(),
  /** Recipients; 0 before preflight. */
  total: z.coerce.number().int().nonnegative().default(0),
  /** Place of the recipient that is fed next. */
  next: z.coerce.number().int().nonnegative().default(0),
  /** The fan-out's latest heartbeat. */
  beat: z.coerce.number().int().default(0),
  /** Messages claimed per second lately. */
  rate: rate.default(0),
  /** Messages per second that throttling holds it to. */
  pace: z.union([z.literal('').transform(() => undefined), rate]).optional(),
})
export type Campaign = z.infer<typeof campaignSchema>

/** When it last changed its state (epoch ms), or was created. */
export const changedAtMs = ({ created_at, beat }: Pick<Campaign, 'created_at' | 'beat'>): number =>
  Math.max(created_at, beat)

/** The id of a campaign, from its record or from the parts of its id. */
export const idOf = ({ lane, number }: CampaignId): string => campaignId({ lane, number })

/** An id for a new campaign of the lane; an unused one leaves a gap. */
export async function newCampaignId(redis: Redis, lane: number): Promise<CampaignId> {
  return { lane, number: await nextId(redis, 'campaign') }
}

/**
 * Creates a draft and returns its id, a new one unless a number is given. An existing campaign stays as it is, in any state.
 */
export async function createCampaign(
  redis: Redis,
  campaign: Pick<Campaign, 'account' | 'lane' | 'definition'> & Partial<Pick<Campaign, 'number' | 'starts_itself'>>,
  nowMs: number,
): Promise<CampaignId> {
  const { account, lane, definition } = campaign
  const number = campaign.number ?? (await newCampaignId(redis, lane)).number
  const record = {
    ...{ account, lane, number, state: 'draft', created_at: nowMs, definition: JSON.stringify(definition) },
    starts_itself: campaign.starts_itself ? '1' : '0',
  }
  // Before the campaign can become active.
  await redis.sadd(rootKeys.campaignLanes, lane)
  await createListed(redis, campaignKey(lane, number), record, () =>
    redis.zadd(campaignsOfAccountKey(account), 'NX', nowMs, idOf({ lane, number })),
  )
  return { lane, number }
}

/** Whether messages of the campaign that were claimed may leave: it was not paused or cancelled meanwhile. */
export async function mayLeave(redis: Redis, { lane, number }: CampaignId): Promise<boolean> {
  const state = await redis.hget(campaignKey(lane, number), 'state')
  return state === 'running' || state === 'done'
}

/** The record of a campaign; undefined once it has expired. Throws a CorruptRecordError when it cannot be read. */
export async function findCampaign(redis: Redis, id: CampaignId): Promise<Campaign | undefined> {
  const raw = await redis.hgetall(campaignKey(id.lane, id.number))
  return isThere(raw) ? readRecord(campaignSchema, `campaign ${idOf(id)}`, raw) : undefined
}

const countRunScript = defineScript(import.meta.url, 'campaign-count-run')

/** Counts one more run of a campaign that is kept. Returns how many there are. */
export async function countRun(redis: Redis, { lane, number }: CampaignId): Promise<number> {
  return z.number().parse(await countRunScript(redis, { campaign: campaignKey(lane, number) }, {}))
}

/** Whether the campaign still has a record. Its other keys expire at the same moment. */
export const isKept = async (redis: Redis, { lane, number }: CampaignId): Promise<boolean> =>
  (await redis.exists(campaignKey(lane, number))) === 1

/** The account's campaign by its id; undefined as well for one of another account. */
export async function findOwnCampaign(
  redis: Redis,
  account: number | undefined,
  name: string,
): Promise<Campaign | undefined> {
  const id = parseCampaignId(name)
  const campaign = id && (await findCampaign(redis, id))
  return account === undefined || campaign?.account === account ? campaign : undefined
}

const moveScript = defineScript(import.meta.url, 'campaign-move', { names: { ENTRY } })
const moveReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['moved', 'refused', 'closed']), z.enum(CAMPAIGN_STATES), z.coerce.number()]),
])

/** Placeholder for the time on the clock of Redis in a field that a move writes. */
export const NOW = '@now'

/** Conditions of a move and what it changes besides the state. */
export interface MoveOptions {
  /** Only in this epoch. */
  epoch?: number
  /** Only while it is scheduled for then (epoch ms). */
  dueAt?: number | undefined
  /** A new epoch begins. */
  begins?: boolean
  /** So many recipients before the cursor are fed once more. */
  rewind?: number
  fields?: Record<string, string | number>
}

export type MoveResult =
  | { kind: 'missing' }
  /** `state` and `epoch` are the current ones. `closed`: its sender, which the move needs, was removed. */
  | { kind: 'moved' | 'refused' | 'closed'; state: Campaign['state']; epoch: number }

/**
 * Moves the campaign by the table of states; an ended one is kept for `keepMs` from then on. When it stops running, its places
 * leave the lane.
 */
export async function moveCampaign(
  redis: Redis,
  { lane, number }: CampaignId,
  move: CampaignMove,
  keepMs: number,
  { epoch, dueAt, begins = false, rewind = 0, fields = {} }: MoveOptions = {},
): Promise<MoveResult> {
  const { from, to } = CAMPAIGN_MOVES[move]
  const reply = moveReply.parse(
    await moveScript(
      redis,
      {
        outbox: outboxKey(lane),
        campaign: campaignKey(lane, number),
        active: activeCampaignsKey(lane),
        counts: campaignCountsKey(lane, number),
        states: recipientStatesKey(lane, number),
        closed: laneClosedKey(lane),
        replied: campaignRepliedKey(lane, number),
        places: placesKey(lane),
        turns: turnsKey(lane),
      },
      { number, allowed: from, to, inEpoch: epoch, dueAt, begins, rewind, keepMs, writes: fields },
    ),
  )
  const [kind, state, now] = reply
  // After the move: a worker that took the lane off the list in between is corrected by this.
  if (kind === 'moved') await addCampaignLane(redis, lane)
  return kind === 'missing' || state === undefined || now === undefined
    ? { kind: 'missing' }
    : { kind, state, epoch: now }
}
