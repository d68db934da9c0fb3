// Accepting up to 1,000 messages in one request. Each is checked by itself: a refused one does not affect the others.
//
// What is kept under an Idempotency-Key is the plan of the batch: one ULID, and for each item its lane or that
// it was refused. The id of each message is derived from the plan. So if the process dies between two jobs, or Redis goes
// away, the repeat makes the messages that are missing, under the ids that they were to have, and no other.

import { cachedAccount, limitsOf } from '../../accounts/accounts.ts'
import { assertForSender } from '../../accounts/check-key.ts'
import { wrongKind } from '../../kernel/fault.ts'
import type { FieldNames } from '../../kernel/field-names.ts'
import { derivedUlid, messageId, newUlid, parseMessageId } from '../../kernel/message-id.ts'
import { invalidFields, ownFault, Refusal } from '../../kernel/refusal.ts'
import { inAcceptSpan } from '../../kernel/tracing.ts'
import { refusedFields, unknownFault } from '../../kernel/unknown-fields.ts'
import { isLaneClosed } from '../../lanes/closed-lanes.ts'
import { messageExists } from '../../lanes/messages/records.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { batchDigest, checkedKey, recallKey, rememberKey } from '../../redis/idempotency.ts'
import { observerOf } from '../../redis/observe.ts'
import { type AcceptDeps, assertMessagesReplicated, notFor } from './accept-message.ts'
import { BATCH_MAX, type BatchResult, type ItemError } from './acknowledgement.ts'
import { senderIsGone } from './choose-sender.ts'
import { type Owner, type PreparedMessage, prepareMessage, refusalOf } from './prepare-message.ts'
import { readSend, sendKindOf } from './read-send.ts'
import { roomToWait } from './waiting-quota.ts'

/** What accepting a batch needs. */
export interface BatchDeps extends AcceptDeps {
  /** Hears of an item that could not be judged by our own fault; it is refused. */
  onFault: (error: unknown, index: number) => void
}

/** A batch from an account whose key has been checked. `body` is parsed JSON within the limits of a large body. */
export interface BatchRequest {
  account: number
  body: Record<string, unknown>
  idempotencyKey: string | undefined
  /** As of a single message (accept-message.ts). */
  keyedAs?: 'message'
  /** The only senders that the key is for; none: all. */
  senders?: readonly number[] | undefined
  /** The trace that the request belongs to, as it came. */
  traceparent?: string | undefined
}

/** Queues the messages and returns the result of each; throws a Refusal when the request is none of the kind. */
export const acceptBatch = inAcceptSpan('batch', acceptAll, (results: readonly BatchResult[]) => idsIn(results))

const idsIn = (results: readonly BatchResult[]): string[] =>
  results.flatMap((result) => ('id' in result ? [result.id] : []))

/** `trace` goes into the jobs. */
async function acceptAll(deps: BatchDeps, request: BatchRequest, trace: string | undefined): Promise<BatchResult[]> {
  const beganAt = performance.now()
  const results = await resultsOf({ ...deps, trace, senders: request.senders }, request)
  await assertMessagesReplicated(deps.redis, idsIn(results))
  observerOf(deps.redis).acceptTook('batch', performance.now() - beganAt)
  return results
}

/** What each of its messages needs: `trace` goes into their jobs. */
type ItemDeps = BatchDeps & Pick<BatchRequest, 'senders'> & { trace: string | undefined }

/** In the order of accepting one message, see the head of accept-message.ts. */
async function resultsOf(
  deps: ItemDeps,
  { account, body, idempotencyKey, keyedAs }: BatchRequest,
): Promise<BatchResult[]> {
  const { redis, config } = deps
  const items = itemsOf(body)
  const key = checkedKey(idempotencyKey)
  const use =
    key === undefined
      ? undefined
      : { account, route: keyedAs ?? 'batch', key, digest: await batchDigest(items, inSlices) }
  const earlier = use && (await recallKey(redis, use))
  const settings = await cachedAccount(redis, account)
  if (earlier !== undefined) return repeat(deps, { account, settings }, items, readPlan(earlier))

  const nowMs = Date.now()
  const judged = await inSlices(items, (item, index) => judge(deps, { account, settings }, item, index, nowMs))
  const plan = planOf(newUlid(nowMs), judged)
  // All of it or nothing: a client that sends the rest again must not have to look for it.
  const wanted = judged.filter((each) => !isRefused(each)).length
  const leaveRoom = await roomToWait(redis, account, limitsOf(settings, config.limits).waiting, wanted)
  try {
    const own = writePlan(plan)
    const first = use ? await rememberKey(redis, use, own) : own
    // Another request with this key may have been first, and this one is its repeat.
    if (first !== own) return await repeat(deps, { account, settings }, items, readPlan(first))
    return await queueAll(deps, plan, judged)
  } finally {
    leaveRoom()
  }
}

/** Of the batch itself: its messages are judged one by one. */
const BATCH_NAMES: FieldNames = new Map([['', new Set(['messages'])]])

function itemsOf(body: Record<string, unknown>): readonly unknown[] {
  const { messages } = body
  const path = 'messages'
  const unknown = refusedFields(body, { messages: undefined }, BATCH_NAMES).map(unknownFault)
  if (!Array.isArray(messages)) throw invalidFields([{ path, message: wrongKind('a list', messages) }, ...unknown])
  if (messages.length < 1 || messages.length > BATCH_MAX) {
    throw invalidFields([{ path, message: `expected 1 to ${BATCH_MAX} messages, got ${messages.length}` }, ...unknown])
  }
  if (unknown.length > 0) throw invalidFields(unknown)
  return messages
}

/** An item that can be queued, or why it cannot. */
type Judged = PreparedMessage | ItemError

const isRefused = (judged: Judged): judged is ItemError => 'code' in judged

/** A refusal is data here: it is one item's and must not end the request. Rejects only while Redis is away. */
async function judge(deps: ItemDeps, owner: Owner, item: unknown, index: number, nowMs: number): Promise<Judged> {
  try {
    const read = readSend(sendKindOf(item), item, 'refused')
    if (!read.ok) return errorOf(await refusalOf(deps.redis, owner.account, read))
    const prepared = await prepareMessage(deps, owner, read, nowMs)
    if (deps.senders !== undefined) assertForSender({ senders: deps.senders }, prepared.lane, notFor(read.message))
    if (deps.trace !== undefined) prepared.payload.trace = deps.trace
    return prepared
  } catch (error) {
    if (error instanceof Refusal) return errorOf(error)
    if (isRedisAway(error)) throw error
    deps.onFault(error, index)
    return errorOf(ownFault())
  }
}

const planOf = (ulid: string, judged: readonly Judged[]): BatchPlan => ({
  ulid,
  lanes: judged.map((each) => (isRefused(each) ? undefined : each.lane)),
})

const idOf = ({ ulid }: BatchPlan, index: number, lane: number): string => messageId(lane, derivedUlid(ulid, index))

/** Adds the jobs of all that can be queued. */
async function queueAll(deps: AcceptDeps, plan: BatchPlan, judged: readonly Judged[]): Promise<BatchResult[]> {
  const messages = judged.flatMap((each, index) =>
    isRefused(each) ? [] : [{ id: idOf(plan, index, each.lane), payload: each.payload }],
  )
  const refused = await deps.queues.addMany(messages)
  return judged.map((each, index) => {
    if (isRefused(each)) return { index, error: each }
    const id = idOf(plan, index, each.lane)
    if (refused.has(id)) return { index, error: errorOf(senderIsGone()) }
    observerOf(deps.redis).accepted({ lane: each.lane, class: each.payload.class, count: 1 })
    return { index, id }
  })
}

/** Answers a batch that came before: the same ids, after adding what a crash may have kept from being added. */
function repeat(deps: ItemDeps, owner: Owner, items: readonly unknown[], plan: BatchPlan): Promise<BatchResult[]> {
  return inSlices(items, async (item, index): Promise<BatchResult> => {
    const lane = plan.lanes[index]
    if (lane !== undefined) {
      const id = idOf(plan, index, lane)
      const parsed = parseMessageId(id)
      if (parsed && (await messageExists(deps.redis, parsed))) return { index, id }
    }
    if (lane !== undefined && (await isLaneClosed(deps.redis, lane)))
      return { index, error: errorOf(senderWasRemoved()) }
    const judged = await judge(deps, { ...owner, lane }, item, index, Date.now())
    if (isRefused(judged)) return { index, error: judged }
    if (lane === undefined) return { index, error: errorOf(refusedBefore()) }
    const id = idOf(plan, index, lane)
    const refused = await deps.queues.addMany([{ id, payload: judged.payload }])
    if (refused.has(id)) return { index, error: errorOf(senderIsGone()) }
    observerOf(deps.redis).accepted({ lane, class: judged.payload.class, count: 1 })
    return { index, id }
  })
}

/** The repeat of a batch makes no message that the first one did not make, whatever has been fixed since. */
const refusedBefore = (): Refusal =>
  new Refusal(
    'invalid',
    'refused_before',
    'This message was rejected in the original request; send it again under a new Idempotency-Key.',
  )

/** Ids of a batch stay with their lanes: no other sender takes over what one that was removed was to send. */
const senderWasRemoved = (): Refusal =>
  new Refusal(
    'invalid',
    'unknown_sender',
    'The sender of this message was removed; send it again under a new Idempotency-Key.',
  )

/** Most faults listed for one item: with those of a whole request, 4 MB of nonsense would be answered with 11 MB. */
const ITEM_FAULTS_MAX = 20

const errorOf = ({ code, message, faults }: Refusal): ItemError => ({
  code,
  message,
  details: faults.slice(0, ITEM_FAULTS_MAX),
})

/** What a batch became when it first came: enough to derive the id of each message again. */
export interface BatchPlan {
  /** All ids of the batch are derived from it. */
  ulid: string
  /** The lane of each item; undefined for one that was refused. */
  lanes: readonly (number | undefined)[]
}

/** The plan as text without spaces; equal neighbouring lanes are written once with their count. */
export function writePlan({ ulid, lanes }: BatchPlan): string {
  const runs: { lane: number; length: number }[] = []
  for (const lane of lanes) {
    const last = runs.at(-1)
    if (last && last.lane === (lane ?? 0)) last.length += 1
    else runs.push({ lane: lane ?? 0, length: 1 })
  }
  return `${ulid}.${runs.map(({ lane, length }) => `${lane}*${length}`).join(',')}`
}

/** What `writePlan` wrote. */
export function readPlan(text: string): BatchPlan {
  const [ulid = '', runs = ''] = text.split('.')
  const lanes = runs.split(',').flatMap((run) => {
    const [lane, length] = run.split('*').map(Number)
    return Array.from({ length: length ?? 0 }, () => (lane ? lane : undefined))
  })
  return { ulid, lanes }
}

/** Longest slice of work (ms): well below the 100 ms that no request may hold the event loop. */
const SLICE_MS = 5

/** Items begun together, so that they share their waiting for Redis; fewer where one of them takes some ms. */
const AT_ONCE = 10

/** The results of `work` for all items, in their order. Yields to other requests between slices. Rejects as soon as one does. */
async function inSlices<I, O>(items: readonly I[], work: (item: I, index: number) => Promise<O> | O): Promise<O[]> {
  const results: O[] = []
  let began = performance.now()
  const isLong = (): boolean => performance.now() - began >= SLICE_MS
  while (results.length < items.length) {
    const slice: (Promise<O> | O)[] = []
    for (const item of items.slice(results.length, results.length + AT_ONCE)) {
      slice.push(work(item, results.length + slice.length))
      if (isLong()) break
    }
    results.push(...(await Promise.all(slice)))
    if (!isLong()) continue
    await new Promise((resolve) => setImmediate(resolve))
    began = performance.now()
  }
  return results
}
