// Senders: the business numbers of an account. A sender and its lane share one id.
import { z } from 'zod'
import { parsePhone } from '../kernel/recipient.ts'
import { type Seal, SealError, type SealedFor, type TokenContext } from '../kernel/seal.ts'
import { LANEWAY_ITSELF } from '../model/accounts/audit-log.ts'
import {
  DEFAULT_RATE,
  type MarketingRoute,
  marketingRouteSchema,
  providerNameSchema,
} from '../model/accounts/sender.ts'
import type { ProviderSender } from '../model/provider.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { accountKey, phoneNumberIdKey, rootKeys, senderKey, sendersOfAccountKey } from '../redis/keys.ts'
import { type Freshness, type Reported, reportedField, reportedText, setNewest } from '../redis/newest.ts'
import { CorruptRecordError, nextId, optionalField, readRecord, replaceField } from '../redis/records.ts'
import { retainedLanes } from './retained-lanes.ts'

const flag = z.enum(['0', '1']).transform((value) => value === '1')

const senderSchema = z.object({
  /** Lane id. */
  id: z.coerce.number().int().positive(),
  account: z.coerce.number().int().positive(),
  /** Digits with country code. */
  number: z.string().regex(/^\d{5,15}$/),
  /** A second name to call it by; may be empty. */
  name: z.string(),
  provider: providerNameSchema,
  base_url: z.url(),
  /** Sealed, see seal.ts. */
  token: z.string(),
  /** WhatsApp's id of the number; empty on partner-api. */
  phone_number_id: z.string(),
  /** The account at WhatsApp that the number belongs to; empty while it is not known. */
  waba_id: z.string().default(''),
  /** Messages per second. */
  rate: z.coerce.number().positive(),
  /** Whether the upstream keeps our Idempotency-Key, so that a repeat is safe (partner-api only). */
  honours_idempotency: flag.default(false),
  /** The business portfolio whose rules it keeps. */
  portfolio: optionalField.default(null),
  /** Whether rate and limits follow WhatsApp's reports. */
  follow_provider: flag.default(true),
  /** Where its marketing templates go (cloud-api only). */
  marketing_route: marketingRouteSchema.default('messages'),
  /** Whether also every single second holds at most its rate. */
  strict_pace: flag.default(false),
  /** WhatsApp's latest reports of the number, each with its time: throughput, quality, name, whether it may send. */
  told_rate: reportedField,
  told_quality: reportedField,
  told_name: reportedField,
  told_block: reportedField,
  /** The report of the last kind that was acted on. */
  heeded_block: reportedField,
  /** Why the lane was paused; empty while it runs. */
  paused_for: z.string().default(''),
  /** Who paused it: the name of a key, a person on the command line, or Laneway itself. Empty when it is not known. */
  paused_by: z.string().default(''),
  /** When the latest pause of its lane began (epoch ms, clock of Redis); 0: not known. */
  paused_at: z.coerce.number().default(0),
  /** When WhatsApp last reported it blocked (epoch ms, clock of Redis); 0: never. */
  blocked_at: z.coerce.number().default(0),
  /** The latest such time that was disproved by a message claimed and sent after it; 0: none. */
  sent_after_block: z.coerce.number().default(0),
  /** When its lane was last resumed (epoch ms, clock of Redis); 0: never. */
  resumed_at: z.coerce.number().default(0),
  /** When it was removed (epoch ms); its messages can be looked up for as long as they are kept. */
  removed_at: z.coerce.number().int().optional(),
})
export type Sender = z.infer<typeof senderSchema>

/**
 * The sender of a lane, also one that was removed and is still kept; undefined when there is none. Throws a
 * CorruptRecordError.
 */
export async function findSender(redis: Redis, id: number): Promise<Sender | undefined> {
  const raw = await redis.hgetall(senderKey(id))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(senderSchema, `sender ${id}`, raw)
}

/** The same, cached for a second, for every message and lookup. */
export const cachedSender = cached(1_000, findSender)

/** The account's default sender. */
export async function defaultSender(redis: Redis, account: number): Promise<Sender | undefined> {
  const id = await redis.hget(accountKey(account), 'default_sender')
  return id === null ? undefined : findSender(redis, Number(id))
}

/** One of the account's senders, by digits or by name. */
export async function senderNamed(
  redis: Redis,
  account: number,
  by: { digits: string } | { name: string },
): Promise<Sender | undefined> {
  const field = 'digits' in by ? by.digits : `name:${by.name}`
  const id = await redis.hget(sendersOfAccountKey(account), field)
  return id === null ? undefined : findSender(redis, Number(id))
}

/** The same as they were within the last second; a name is also taken for a number in any spelling. */
export const cachedDefaultSender = cached(1_000, defaultSender)
export const cachedSenderNamed = cached(1_000, async (redis, account: number, name: string) => {
  const phone = parsePhone(name)
  const byNumber = phone.ok ? await senderNamed(redis, account, { digits: phone.digits }) : undefined
  return byNumber ?? senderNamed(redis, account, { name })
})

/** The sender with this phone number id of WhatsApp, of any account. */
export async function senderOfPhoneNumberId(redis: Redis, phoneNumberId: string): Promise<Sender | undefined> {
  const id = await redis.get(phoneNumberIdKey(phoneNumberId))
  return id === null ? undefined : findSender(redis, Number(id))
}

/** The lanes of the account's senders. */
export const laneIdsOf = async (redis: Redis, account: number): Promise<number[]> => [
  ...new Set((await redis.hvals(sendersOfAccountKey(account))).map(Number)),
]

/** The account's senders; without an account, those of all. */
export const listSenders = async (redis: Redis, account?: number): Promise<Sender[]> =>
  readSenders(
    redis,
    (await lanesOf(redis, account)).map(({ lane }) => lane),
  )

interface OwnedLane {
  lane: number
  account: number
}

async function lanesOf(redis: Redis, account: number | undefined): Promise<OwnedLane[]> {
  const all = Object.entries(await redis.hgetall(rootKeys.lanes))
  const lanes = all.map(([lane, owner]) => ({ lane: Number(lane), account: Number(owner) }))
  return lanes.filter((each) => account === undefined || each.account === account).sort((a, b) => a.lane - b.lane)
}

/** A sender whose record cannot be read, and why. */
export interface BrokenSender extends OwnedLane {
  error: CorruptRecordError
}

/** The same, with unreadable records apart: one of them must not stop work for the others. */
export const sortSenders = async (
  redis: Redis,
  account?: number,
): Promise<{ senders: Sender[]; broken: BrokenSender[] }> => sortByReading(redis, await lanesOf(redis, account))

/** The same with removed senders whose data is retained. */
export const sortRetainedSenders = async (
  redis: Redis,
): Promise<{ senders: Sender[]; broken: { lane: number; error: CorruptRecordError }[] }> =>
  sortByReading(
    redis,
    (await retainedLanes(redis)).map((lane) => ({ lane })),
  )

async function sortByReading<Lane extends { lane: number }>(
  redis: Redis,
  lanes: readonly Lane[],
): Promise<{ senders: Sender[]; broken: (Lane & { error: CorruptRecordError })[] }> {
  const broken: (Lane & { error: CorruptRecordError })[] = []
  const found = await Promise.all(
    lanes.map((each) =>
      findSender(redis, each.lane).catch((error: unknown) => {
        if (!(error instanceof CorruptRecordError)) throw error
        broken.push({ ...each, error })
      }),
    ),
  )
  return { senders: found.filter((sender) => sender !== undefined), broken }
}

/** The account's senders whose records can be read; without an account, those of all. */
export const listReadableSenders = async (redis: Redis, account?: number): Promise<Sender[]> =>
  (await sortSenders(redis, account)).senders

/** Messages per second that WhatsApp takes from the number, as far as it has reported: what it takes from every number, or more. */
export const grantedRate = ({ told_rate: told }: Pick<Sender, 'told_rate'>): number =>
  Math.max(DEFAULT_RATE, Number(told?.value) || 0)

/** The same with removed senders whose data is retained. */
export const listRetainedSenders = async (redis: Redis, account?: number): Promise<Sender[]> =>
  readSenders(redis, await retainedLanes(redis, account))

async function readSenders(redis: Redis, ids: readonly number[]): Promise<Sender[]> {
  const senders = await Promise.all(ids.map((id) => findSender(redis, id)))
  return senders.filter((sender) => sender !== undefined)
}

/** Sets the rate, in messages per second from MIN_RATE to MAX_RATE; workers keep to it within a second. */
export async function setSenderRate(redis: Redis, id: number, rate: number): Promise<void> {
  await redis.hset(senderKey(id), 'rate', rate)
}

/** Sets the portfolio whose rules the sender keeps; null: its own. Its existence is checked in portfolios/. */
export async function setPortfolioOf(redis: Redis, id: number, portfolio: number | null): Promise<void> {
  await redis.hset(senderKey(id), 'portfolio', portfolio ?? '')
}

/** What WhatsApp reports of a number. */
export type SenderGroup = 'rate' | 'quality' | 'name' | 'block'

/** Records what WhatsApp reports of the number, and writes the other fields too unless something newer is known. */
export const updateSender = (
  redis: Redis,
  id: number,
  group: SenderGroup,
  reported: Reported,
  writes: { rate?: number } = {},
): Promise<Freshness> => setNewest(redis, { key: senderKey(id), field: `told_${group}` }, reported, writes)

/** Records that the latest report of whether the number may send was acted on. */
export async function markBlockApplied(redis: Redis, id: number, reported: Required<Reported>): Promise<void> {
  await redis.hset(senderKey(id), 'heeded_block', reportedText(reported))
}

/** How a sender deals with its provider; missing fields stay as they are. */
export interface ProviderTies {
  wabaId?: string | undefined
  followProvider?: boolean | undefined
  marketingRoute?: MarketingRoute | undefined
  strictPace?: boolean | undefined
}

/** Changes the account at WhatsApp, whether the sender follows its limits, its marketing route, and how strictly it keeps its pace. */
export async function setSenderProvider(
  redis: Redis,
  id: number,
  { wabaId, followProvider, marketingRoute, strictPace }: ProviderTies,
): Promise<void> {
  const fields = {
    ...(wabaId === undefined ? {} : { waba_id: wabaId }),
    ...(followProvider === undefined ? {} : { follow_provider: followProvider ? '1' : '0' }),
    ...(marketingRoute === undefined ? {} : { marketing_route: marketingRoute }),
    ...(strictPace === undefined ? {} : { strict_pace: strictPace ? '1' : '0' }),
  }
  if (Object.keys(fields).length > 0) await redis.hset(senderKey(id), fields)
}

/** Records why and by whom the lane is paused. The pause itself is the queue's. */
export async function setPausedFor(redis: Redis, id: number, reason: string, by: string): Promise<void> {
  await redis.hset(senderKey(id), { paused_for: reason, paused_by: by })
}

/** Records when a pause of its lane begins (epoch ms). */
export async function setPausedAt(redis: Redis, id: number, atMs: number): Promise<void> {
  await redis.hset(senderKey(id), 'paused_at', atMs)
}

/** Records that WhatsApp reported the sender blocked at this time, and why it is paused. */
export async function setBlocked(redis: Redis, id: number, reason: string, atMs: number): Promise<void> {
  await redis.hset(senderKey(id), { paused_for: reason, paused_by: LANEWAY_ITSELF.system, blocked_at: atMs })
}

/** Records that the lane was resumed at this time: earlier reports of WhatsApp no longer count. */
export async function setResumed(redis: Redis, id: number, atMs: number): Promise<void> {
  await redis.hset(senderKey(id), { paused_for: '', paused_by: '', resumed_at: atMs })
}

/** Records that a message claimed after the block of this time was sent: the block is over. */
export async function setSentAfterBlock(redis: Redis, id: number, blockedAtMs: number): Promise<void> {
  await redis.hset(senderKey(id), 'sent_after_block', blockedAtMs)
}

/**
 * Whether a sender of another account belongs to this account at WhatsApp, as far as is known. Reads one field of each: a record
 * that is broken elsewhere neither stops this nor gives its account at WhatsApp to others.
 */
export async function isWabaOfOthers(redis: Redis, wabaId: string, account: number): Promise<boolean> {
  const others = (await lanesOf(redis, undefined)).filter((each) => each.account !== account)
  const known = await Promise.all(others.map(({ lane }) => redis.hget(senderKey(lane), 'waba_id')))
  return known.includes(wabaId)
}

/** An id for a new sender and its lane; an unused one leaves a gap. */
export const newSenderId = (redis: Redis): Promise<number> => nextId(redis, 'lane')

/** Makes a sender the one that service messages of its account leave from. */
export async function setDefaultSender(redis: Redis, account: number, id: number): Promise<void> {
  await redis.hset(accountKey(account), 'default_sender', id)
}

/** A provider's address, and the token, sealed once it is known for which sender and address. */
export interface SenderAccess {
  baseUrl: string
  sealedToken: SealedFor<TokenContext>
}

/** Address and token in their stored form. */
export function accessFields(id: number, { baseUrl, sealedToken }: SenderAccess): { base_url: string; token: string } {
  const base_url = baseUrl.replace(/\/+$/, '')
  return { base_url, token: sealedToken({ sender: id, baseUrl: base_url }) }
}

/** Sets another address and token in one step: the token is sealed to the address. */
export async function setSenderAccess(redis: Redis, id: number, access: SenderAccess): Promise<void> {
  await redis.hset(senderKey(id), accessFields(id, access))
}

/** The seal context of a sender's token. */
export const tokenContextOf = ({ id, base_url }: Sender): TokenContext => ({ sender: id, baseUrl: base_url })

/** The token of a sender in clear; undefined if no key opens it. */
export function tokenOf(seal: Seal, sender: Sender): string | undefined {
  try {
    return seal.decrypt(sender.token, tokenContextOf(sender))
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

/** The sender for its provider's code, with its token in clear. Throws a SealError. */
export const providerSenderOf = (seal: Seal, sender: Sender): ProviderSender => ({
  number: sender.number,
  baseUrl: sender.base_url,
  token: seal.decrypt(sender.token, tokenContextOf(sender)),
  phoneNumberId: sender.phone_number_id,
})

/** Stores the resealed token, unless it has changed since the sender was read; returns whether it did. */
export const replaceToken = (redis: Redis, sender: Sender, sealed: string): Promise<boolean> =>
  // A change of the address reseals the token as well.
  replaceField(redis, senderKey(sender.id), 'token', { before: sender.token, after: sealed })
