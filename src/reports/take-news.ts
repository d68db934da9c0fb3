// Takes what a webhook tells besides messages: changes what it is about, then keeps a notice. Each part can be done any
// number of times and in any order: a process that dies in between answers no 200, and WhatsApp posts the webhook again.

import { findSender, heedBlock, type Sender, tellSender } from '../accounts/senders.ts'
import { tellTemplate } from '../accounts/template-states.ts'
import { askForSync } from '../accounts/template-syncs.ts'
import { pauseForTemplate } from '../campaigns/commands/template-paused.ts'
import { blockLane, noteOwnAct, resumeLane } from '../lanes/control.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Notice } from '../model/notice.ts'
import { setToldLimit } from '../portfolios/portfolios.ts'
import type { Change, ProviderNews } from '../providers/news.ts'
import type { Redis } from '../redis/connect.ts'
import { isSameWord } from '../redis/newest.ts'
import { observerOf } from '../redis/observe.ts'
import { type Concerned, whomItConcerns } from './concerned.ts'
import { type Kept, keepNotice } from './notices.ts'

export interface NewsDeps {
  redis: Redis
  queues: LaneQueues
  /** How long an ended campaign can be looked at. */
  retentionMs: number
}

/** A text of WhatsApp is cut there, in a notice and in the reason of a pause. */
const SENTENCE_MAX = 300

/**
 * Changes what the news is about and keeps it as a notice of each account it concerns, else of the installation.
 * `account` is the one of the address it came to. Says what came of each notice.
 */
export async function takeNews(deps: NewsDeps, news: ProviderNews, account: number | undefined): Promise<Kept[]> {
  const nowMs = Date.now()
  // A time in the future comes from a wrong clock, and nothing would be newer than it for so long.
  const atMs = Math.min(news.atMs ?? nowMs, nowMs)
  const isTimed = news.atMs !== undefined
  const concerned = await whomItConcerns(deps.redis, news, account)
  for (const each of concerned) for (const change of news.changes) await apply(deps, each, { news, change, atMs })
  // What the webhook does not say of a template, its list does.
  if (news.template !== undefined) for (const each of concerned) await listAgain(deps.redis, each, news)
  const to = concerned.length === 0 ? [{ account: NO_ACCOUNT, senders: [] }] : concerned
  const kept: Kept[] = []
  for (const each of to)
    kept.push(await keepNotice(deps.redis, noticeOf(news, each, { atMs, nowMs }), { nowMs, isTimed }))
  // Not of a webhook that WhatsApp brings again.
  if (kept.some((each) => each === 'kept' || each === 'missed')) observerOf(deps.redis).noticed(news)
  return kept
}

async function listAgain(redis: Redis, { account, senders }: Concerned, { wabaId }: ProviderNews): Promise<void> {
  const known = new Set(senders.map(({ waba_id: id }) => id).filter((id) => id !== '' && (wabaId ?? id) === id))
  for (const id of known) await askForSync(redis, { account, wabaId: id }, 'webhook')
}

function noticeOf(news: ProviderNews, { account, senders }: Concerned, times: { atMs: number; nowMs: number }): Notice {
  const isOfNumber = news.digits !== undefined || news.phoneNumberId !== undefined
  return {
    at: times.atMs,
    received_at: times.nowMs,
    account,
    kind: news.isKnown ? news.field : 'other',
    field: news.field,
    event: news.event ?? null,
    sentence: news.sentence.slice(0, SENTENCE_MAX),
    waba_id: news.wabaId ?? null,
    lane: isOfNumber && senders.length === 1 ? (senders[0]?.id ?? null) : null,
    template: news.template ?? null,
    details: news.details,
  }
}

interface Told {
  news: ProviderNews
  change: Change
  atMs: number
}

async function apply(deps: NewsDeps, { account, senders }: Concerned, { news, change, atMs }: Told): Promise<void> {
  const { redis } = deps
  switch (change.of) {
    case 'template': {
      const { template } = news
      // An address of an account hears of accounts at WhatsApp that are none of its senders'.
      if (template === undefined || senders.length === 0) return
      const standing = await tellTemplate(redis, account, template, { ...change, atMs })
      if (change.group === 'status' && standing !== 'older') await pauseForTemplate(deps, account, template)
      return
    }
    case 'sender':
      // Of a number that is at the same account and none of ours; only a block is about the account.
      if (change.group !== 'block' && isOfAnother(news, senders)) return
      for (const sender of senders) await tellOfSender(deps, sender, { change, atMs })
      return
    case 'portfolio': {
      const followed = senders.filter(({ portfolio, follow_provider: follows }) => portfolio !== null && follows)
      for (const id of new Set(followed.flatMap(({ portfolio }) => portfolio ?? []))) {
        await setToldLimit(redis, id, change.value, atMs)
      }
    }
  }
}

const isOfAnother = ({ digits }: ProviderNews, senders: readonly Sender[]): boolean =>
  digits !== undefined && senders.every(({ number }) => number !== digits)

async function tellOfSender(
  { redis, queues }: NewsDeps,
  sender: Sender,
  { change, atMs }: { change: Change & { of: 'sender' }; atMs: number },
): Promise<void> {
  const { id } = sender
  if (change.group === 'rate') {
    // It is only ever raised; one who wants to send slower does not follow.
    const writes = sender.follow_provider && change.value > sender.rate ? { rate: change.value } : {}
    await tellSender(redis, id, 'rate', { atMs, value: String(change.value) }, writes)
    await queues.letChunksGo(id)
    return
  }
  if (change.group === 'block') return tellOfBlock({ redis, queues }, id, { value: change.value, atMs })
  await tellSender(redis, id, change.group, { atMs, value: change.value })
}

const BLOCKED = 'WhatsApp has closed the account: '

/**
 * Stops the lane, or lets it go on if it was stopped for this. What is carried out is what is known by now, whatever this
 * webhook says, until nothing newer has come meanwhile: so any order ends alike. If the process dies in between, the
 * webhook comes again and does it. A webhook that is repeated later stops no lane that a person has resumed since.
 */
async function tellOfBlock(
  { redis, queues }: Pick<NewsDeps, 'redis' | 'queues'>,
  id: number,
  { value, atMs }: { value: string; atMs: number },
): Promise<void> {
  // Of both in one second the one that stops counts.
  await tellSender(redis, id, 'block', { atMs, rank: value === '' ? 0 : 1, value })
  for (;;) {
    const sender = await findSender(redis, id)
    const known = sender?.told_block
    if (sender === undefined || known === undefined || isSameWord(known, sender.heeded_block)) return
    if (known.value !== '') await blockLane(redis, queues, id, `${BLOCKED}${known.value}`)
    else if (sender.paused_for.startsWith(BLOCKED)) {
      await resumeLane(redis, queues, id)
      await noteOwnAct(redis, id, 'lane.resume', 'WhatsApp has opened the account again.')
    }
    await heedBlock(redis, id, known)
  }
}
