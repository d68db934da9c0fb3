// The notices of an account, and of the installation: its one list has those of all accounts, and those that belong to no
// known account. Bounded in time, in number and by kind, see notice-keep.lua.
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { DAY_MS } from '../kernel/time-units.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import { ENTRY } from '../model/events/outbox-entry.ts'
import {
  MOST_A_MINUTE,
  MOST_NOTICES,
  MOST_NOTICES_IN_ALL,
  NOTICES_KEPT_MS,
  type Notice,
  type NoticeDocument,
  type NoticeFilter,
  noticeSchema,
} from '../model/notice.ts'
import type { Redis } from '../redis/connect.ts'
import { eventKeys, noticeKeys, noticesKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { jsonText, readRecord } from '../redis/records.ts'

const script = defineScript(import.meta.url, 'notice-keep', { names: { ENTRY } })
const reply = z.enum(['kept', 'known', 'missed', 'old'])
export type Kept = z.infer<typeof reply>

/**
 * The id of a notice: equal notices of the same moment have the same id. Some have no time, and WhatsApp repeats webhooks for days: equal
 * ones of one day have the same id.
 */
function idOf({ kind, received_at: _received, at, ...content }: Notice, isTimed: boolean): string {
  const moment = isTimed ? at : `day ${Math.floor(at / DAY_MS)}`
  const digest = createHash('sha256')
    .update(JSON.stringify({ ...content, kind, moment }))
    .digest('base64url')
  return `${kind}.${digest.slice(0, 22)}`
}

/** `isTimed`: it has its own time. */
interface When {
  nowMs: number
  isTimed: boolean
}

/**
 * Keeps a notice of an account (0: unknown), emits its event once, and returns the result. Dying in between leaves it off the list of
 * the installation; the repeated webhook makes up for it.
 */
export async function keepNotice(redis: Redis, notice: Notice, when: When): Promise<Kept> {
  const kept = await keepIn(redis, notice.account, notice, when)
  if (notice.account === NO_ACCOUNT || kept === 'missed') return kept
  await keepIn(redis, NO_ACCOUNT, notice, when)
  return kept
}

async function keepIn(redis: Redis, account: number, notice: Notice, { nowMs: now, isTimed }: When): Promise<Kept> {
  const id = idOf(notice, isTimed)
  const isAll = account === NO_ACCOUNT
  const { kind, at, field, event, sentence, lane } = notice
  const occurrence = { about: 'notice', id, field, event, sentence, at: now, ...(lane !== null && { lane }) }
  const keys = { index: noticesKey(account), outbox: eventKeys(account).outbox }
  const most = isAll ? MOST_NOTICES_IN_ALL : MOST_NOTICES
  // In the list of all accounts a flood at one must not keep out another's notices.
  const mostNow = isAll ? MOST_NOTICES_IN_ALL : MOST_A_MINUTE
  const bounds = { now, keepMs: NOTICES_KEPT_MS, most, mostNow }
  const args = { id, kind, text: JSON.stringify(notice), at, ...bounds }
  return reply.parse(await script(redis, keys, isAll ? args : { ...args, event: JSON.stringify(occurrence) }))
}

const CURSOR = /^(\d{1,15})\.([a-z_]{1,64}\.[\w-]{22})$/

/** Whether a text can be the cursor of a page. */
export const isNoticeCursor = (text: string): boolean => CURSOR.test(text)

/** Notices that one request examines. */
const MOST_EXAMINED = 1_000

/**
 * Up to `limit` notices after `cursor` (the latest without one), the latest first, of one account or of all (0), that match
 * the filter. `next` is the cursor of the page after it, null on the last; with a filter there may be fewer than `limit` and
 * yet a next one. Throws a CorruptRecordError.
 */
export async function readNotices(
  redis: Redis,
  {
    account,
    limit,
    cursor,
    filter = {},
  }: { account: number; limit: number; cursor?: string | undefined; filter?: NoticeFilter },
  nowMs: number,
): Promise<{ notices: NoticeDocument[]; next: string | null }> {
  const index = noticesKey(account)
  const from = cursor === undefined ? 0 : await rankAfter(redis, index, cursor)
  const isFiltered = Object.values(filter).some((value) => value !== undefined)
  const most = isFiltered ? Math.max(limit, MOST_EXAMINED) : limit
  // One more than is examined, to know whether there is another page.
  const found = await redis.zrevrange(index, from, from + most, 'WITHSCORES')
  const all = found.flatMap((id, i) => (i % 2 === 0 ? [{ id, at: Number(found[i + 1]) }] : []))
  const examined = all.slice(0, most).filter(({ at }) => at >= nowMs - NOTICES_KEPT_MS)
  const texts =
    examined.length === 0 ? [] : await redis.hmget(noticeKeys(account).texts, ...examined.map(({ id }) => id))
  const matching = examined.flatMap(({ id, at }, i) => {
    const notice = texts[i] ? documentOf(id, texts[i]) : undefined
    return notice !== undefined && matches(notice, filter) ? [{ notice, at }] : []
  })
  const page = matching.slice(0, limit)
  const hasMore = matching.length > limit || all.length > most
  const last = matching.length > limit ? page.at(-1) : examined.at(-1)
  const lastCursor = last && ('notice' in last ? `${last.at}.${last.notice.id}` : `${last.at}.${last.id}`)
  return { notices: page.map(({ notice }) => notice), next: hasMore && lastCursor !== undefined ? lastCursor : null }
}

const matches = (notice: NoticeDocument, { field, sender, template }: NoticeFilter): boolean =>
  (field === undefined || notice.field === field) &&
  (sender === undefined || notice.sender === sender) &&
  (template === undefined || notice.template?.name === template)

/** The cursor after this notice; it stays valid when the notice has expired. */
async function rankAfter(redis: Redis, index: string, cursor: string): Promise<number> {
  const [, at = '0', id = ''] = CURSOR.exec(cursor) ?? []
  const rank = await redis.zrevrank(index, id)
  return rank === null ? await redis.zcount(index, `(${at}`, '+inf') : rank + 1
}

const stored = jsonText.pipe(noticeSchema)

function documentOf(id: string, text: string): NoticeDocument {
  const space = text.indexOf(' ')
  const notice = readRecord(stored, `notice ${id}`, text.slice(space + 1))
  const { at, received_at, account, kind: _kind, lane, ...rest } = notice
  return {
    id,
    at: new Date(at).toISOString(),
    received_at: new Date(received_at).toISOString(),
    account: account === NO_ACCOUNT ? null : account,
    ...rest,
    sender: lane,
    missed: Number(text.slice(0, space)),
  }
}

/** Forgets the notices of an account; those in the list of the installation end by themselves. */
export async function forgetNotices(redis: Redis, account: number): Promise<void> {
  const { texts, kinds, missed, ofKind } = noticeKeys(account)
  const known = await redis.zrange(kinds, 0, '-1')
  await redis.del(noticesKey(account), texts, kinds, missed)
  for (const kind of known) await redis.del(ofKind(kind))
}
