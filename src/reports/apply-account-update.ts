// Applies an account update: changes its subject, then keeps a notice. Each part is idempotent and order-independent: a process that dies
// in between answers no 200, and WhatsApp posts the webhook again.

import { logOwnAct } from '../accounts/own-acts.ts'
import { findSender, markBlockApplied, type Sender, updateSender } from '../accounts/senders.ts'
import { updateTemplateState } from '../accounts/template-states.ts'
import { askForSync } from '../accounts/template-syncs.ts'
import { pauseForTemplate } from '../campaigns/commands/template-paused.ts'
import { cutText } from '../kernel/cut-text.ts'
import { isSameNumber } from '../kernel/national-forms.ts'
import { blockLane, resumeLane } from '../lanes/control.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Notice } from '../model/notice.ts'
import { setReportedLimit } from '../portfolios/portfolios.ts'
import type { AccountUpdate, Change } from '../providers/account-updates.ts'
import type { Redis } from '../redis/connect.ts'
import { isRedisAway } from '../redis/errors.ts'
import { assertGaveOutLane } from '../redis/installation.ts'
import { isSameReport } from '../redis/newest.ts'
import { observerOf } from '../redis/observe.ts'
import { type Affected, affectedBy } from './affected-senders.ts'
import { type Kept, keepNotice } from './notices.ts'

export interface AccountUpdateDeps {
  redis: Redis
  queues: LaneQueues
  /** How long an ended campaign is kept. */
  retentionMs: number
}

/** Most characters of WhatsApp's text in a notice and in the reason of a pause. */
const SENTENCE_MAX = 300

/**
 * Applies the update and keeps it as a notice of each affected account, else of the installation. `account` is that of the address. Returns
 * the result for each notice. Rejects with the first fault once everything else is applied.
 */
export async function applyAccountUpdate(
  deps: AccountUpdateDeps,
  update: AccountUpdate,
  account: number | undefined,
): Promise<Kept[]> {
  const nowMs = Date.now()
  // A time in the future comes from a wrong clock, and until then nothing would be newer.
  const atMs = Math.min(update.atMs ?? nowMs, nowMs)
  const isTimed = update.atMs !== undefined
  const affected = await affectedBy(deps.redis, update, account)
  // Before there was a sender nothing can be about nobody's: the right data are not there yet.
  if (affected.length === 0) await assertGaveOutLane(deps.redis, 1)
  const errors: unknown[] = []
  /** WhatsApp does not repeat it for a fault of ours, so one in the data of one account must not cost another one its update. */
  const unlessBroken = async <T>(step: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await step()
    } catch (error) {
      if (isRedisAway(error)) throw error
      errors.push(error)
      return undefined
    }
  }
  for (const each of affected)
    for (const change of update.changes) await unlessBroken(() => apply(deps, each, { update, change, atMs }))
  // The list of templates has what the webhook leaves out.
  if (update.template !== undefined)
    for (const each of affected) await unlessBroken(() => listAgain(deps.redis, each, update))
  const to = affected.length === 0 ? [{ account: NO_ACCOUNT, senders: [] }] : affected
  const kept: Kept[] = []
  for (const each of to) {
    const notice = noticeOf(update, each, { atMs, nowMs })
    const end = await unlessBroken(() => keepNotice(deps.redis, notice, { nowMs, isTimed }))
    if (end !== undefined) kept.push(end)
  }
  // Not for a webhook that WhatsApp repeats.
  if (kept.some((each) => each === 'kept' || each === 'missed')) observerOf(deps.redis).noticed(update)
  if (errors.length > 0) throw errors[0]
  return kept
}

async function listAgain(redis: Redis, { account, senders }: Affected, { wabaId }: AccountUpdate): Promise<void> {
  const known = new Set(senders.map(({ waba_id: id }) => id).filter((id) => id !== '' && (wabaId ?? id) === id))
  for (const id of known) await askForSync(redis, { account, wabaId: id }, 'webhook')
}

function noticeOf(
  update: AccountUpdate,
  { account, senders }: Affected,
  times: { atMs: number; nowMs: number },
): Notice {
  const isOfNumber = update.digits !== undefined || update.phoneNumberId !== undefined
  return {
    at: times.atMs,
    received_at: times.nowMs,
    account,
    kind: update.isKnown ? update.field : 'other',
    field: update.field,
    event: update.event ?? null,
    sentence: cutText(update.sentence, SENTENCE_MAX),
    waba_id: update.wabaId ?? null,
    lane: isOfNumber && senders.length === 1 ? (senders[0]?.id ?? null) : null,
    template: update.template ?? null,
    details: update.details,
  }
}

interface OneChange {
  update: AccountUpdate
  change: Change
  atMs: number
}

async function apply(
  deps: AccountUpdateDeps,
  { account, senders }: Affected,
  { update, change, atMs }: OneChange,
): Promise<void> {
  const { redis } = deps
  switch (change.of) {
    case 'template': {
      const { template } = update
      // The address of an account also gets updates of accounts at WhatsApp that none of its senders belongs to.
      if (template === undefined || senders.length === 0) return
      const freshness = await updateTemplateState(redis, account, template, { ...change, atMs })
      if (change.group === 'status' && freshness !== 'older') await pauseForTemplate(deps, account, template)
      return
    }
    case 'sender':
      // A number of the same account that is none of ours; only a block is about the account.
      if (change.group !== 'block' && isOfAnother(update, senders)) return
      for (const sender of senders) await applyToSender(deps, sender, { change, atMs })
      return
    case 'portfolio': {
      const followed = senders.filter(({ portfolio, follow_provider: follows }) => portfolio !== null && follows)
      for (const id of new Set(followed.flatMap(({ portfolio }) => portfolio ?? []))) {
        await setReportedLimit(redis, id, change.value, atMs)
      }
    }
  }
}

const isOfAnother = ({ digits }: AccountUpdate, senders: readonly Sender[]): boolean =>
  digits !== undefined && !senders.some(({ number }) => isSameNumber(number, digits))

async function applyToSender(
  { redis, queues }: AccountUpdateDeps,
  sender: Sender,
  { change, atMs }: { change: Change & { of: 'sender' }; atMs: number },
): Promise<void> {
  const { id } = sender
  if (change.group === 'rate') {
    // The rate is only ever raised; `follow_provider` off keeps a slower one.
    const writes = sender.follow_provider && change.value > sender.rate ? { rate: change.value } : {}
    await updateSender(redis, id, 'rate', { atMs, value: String(change.value) }, writes)
    return
  }
  if (change.group === 'block') return applyBlock({ redis, queues }, id, { value: change.value, atMs })
  await updateSender(redis, id, change.group, { atMs, value: change.value })
}

const BLOCKED = 'WhatsApp has closed the account: '

/**
 * Pauses the lane, or resumes it if it was paused for this. Applies the latest stored report, not this webhook's, until no newer one has
 * come meanwhile, so that any order ends alike. If the process dies in between, the webhook comes again. A webhook that is repeated later
 * does not pause a lane that a person has resumed since.
 */
async function applyBlock(
  { redis, queues }: Pick<AccountUpdateDeps, 'redis' | 'queues'>,
  id: number,
  { value, atMs }: { value: string; atMs: number },
): Promise<void> {
  // Of two reports in one second the block wins.
  await updateSender(redis, id, 'block', { atMs, rank: value === '' ? 0 : 1, value })
  for (;;) {
    const sender = await findSender(redis, id)
    const known = sender?.told_block
    if (sender === undefined || known === undefined || isSameReport(known, sender.heeded_block)) return
    if (known.value !== '') await blockLane(redis, queues, id, `${BLOCKED}${known.value}`)
    else if (sender.paused_for.startsWith(BLOCKED)) {
      await resumeLane(redis, queues, id)
      await logOwnAct(redis, id, {
        action: 'lane.resume',
        target: String(id),
        detail: 'WhatsApp has opened the account again.',
      })
    }
    await markBlockApplied(redis, id, known)
  }
}
