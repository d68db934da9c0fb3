// Accepting up to 1,000 messages in one request. Each is judged by itself, and one that is refused harms no other.
//
// With an Idempotency-Key the plan of the batch (one ULID, and for each item its lane or that it was refused) is kept
// under the key before the first job is added, and the id of each message is derived from the plan. So if the process
// dies between two jobs, or Redis goes away, the repeat makes the messages that are missing, under the ids that they
// were to have, and no other.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { wrongKind } from '../messages/fault.ts'
import { derivedUlid, messageId, newUlid, parseMessageId } from '../messages/message-id.ts'
import { largeBodyDigest, recallKey, rememberKey } from '../store/idempotency.ts'
import { messageExists } from '../store/lookup.ts'
import type { AcceptDeps } from './accept-message.ts'
import { type BatchPlan, readPlan, writePlan } from './batch-plan.ts'
import { checkedKey, refuseOtherBody } from './idempotency-key.ts'
import { type PreparedMessage, prepareMessage, refusalOf } from './prepare-message.ts'
import { readSend } from './read-send.ts'
import { invalidFields, Refusal } from './refusal.ts'

export const BATCH_MAX = 1_000

export interface BatchRequest {
  account: number
  body: Record<string, unknown>
  idempotencyKey: string | undefined
}

/** What became of one item, `index` from 0 in the order of the request. */
export type BatchResult = { index: number; id: string } | { index: number; error: ItemError }

export interface ItemError {
  code: string
  message: string
  details: Refusal['faults']
}

/** Queues the messages and says of each what became of it; throws a Refusal when the request is none of the kind. */
export async function acceptBatch(deps: AcceptDeps, request: BatchRequest): Promise<BatchResult[]> {
  const { account, body } = request
  const items = itemsOf(body)
  const key = checkedKey(request.idempotencyKey)
  const nowMs = Date.now()
  if (key === undefined) {
    const judged = await judgeAll(deps, account, items, nowMs)
    return queueAll(deps, planOf(newUlid(nowMs), judged), judged)
  }

  const where = { account, route: 'batch', key }
  const digest = await largeBodyDigest(body)
  const earlier = await recallKey(deps.redis, where)
  if (earlier) return repeat(deps, account, items, earlier, digest)
  const judged = await judgeAll(deps, account, items, nowMs)
  const plan = planOf(newUlid(nowMs), judged)
  const kept = await rememberKey(deps.redis, where, { id: writePlan(plan), digest })
  if (!kept.isNew) return repeat(deps, account, items, kept, digest)
  return queueAll(deps, plan, judged)
}

function itemsOf({ messages }: Record<string, unknown>): readonly unknown[] {
  const path = 'messages'
  if (!Array.isArray(messages)) throw invalidFields([{ path, message: wrongKind('a list', messages) }])
  if (messages.length < 1 || messages.length > BATCH_MAX) {
    throw invalidFields([{ path, message: `expected 1 to ${BATCH_MAX} messages, got ${messages.length}` }])
  }
  return messages
}

/** An item that can be queued, or why it cannot. */
type Judged = PreparedMessage | Refusal

/** Items that are judged in one turn of the event loop; all of them at once would be 50 ms of it. */
const ITEMS_A_TURN = 50

async function judgeAll(
  deps: AcceptDeps,
  account: number,
  items: readonly unknown[],
  nowMs: number,
): Promise<Judged[]> {
  const judged: Judged[] = []
  for (let at = 0; at < items.length; at += ITEMS_A_TURN) {
    const some = items.slice(at, at + ITEMS_A_TURN)
    judged.push(...(await Promise.all(some.map((item) => judge(deps, account, item, nowMs)))))
    await nextTurn()
  }
  return judged
}

/** A Refusal is data here: it is one item's and must not end the request. */
async function judge(deps: AcceptDeps, account: number, item: unknown, nowMs: number): Promise<Judged> {
  const isTemplate = typeof item === 'object' && item !== null && 'type' in item && item.type === 'template'
  const read = readSend(isTemplate ? 'template' : 'service', item)
  if (read.kind === 'unreadable') return refusalOf(deps, account, read)
  try {
    return await prepareMessage(deps, account, read, nowMs)
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

const planOf = (ulid: string, judged: readonly Judged[]): BatchPlan => ({
  ulid,
  lanes: judged.map((each) => (each instanceof Refusal ? undefined : each.lane)),
})

const idOf = ({ ulid }: BatchPlan, index: number, lane: number): string => messageId(lane, derivedUlid(ulid, index))

/** Adds the jobs of all that can be queued. */
async function queueAll(deps: AcceptDeps, plan: BatchPlan, judged: readonly Judged[]): Promise<BatchResult[]> {
  const messages = judged.flatMap((each, index) =>
    each instanceof Refusal ? [] : [{ id: idOf(plan, index, each.lane), payload: each.payload }],
  )
  await deps.queues.addMany(messages)
  return judged.map((each, index) => {
    if (each instanceof Refusal) return { index, error: errorOf(each) }
    return { index, id: idOf(plan, index, each.lane) }
  })
}

/** Answers a batch that came before: the same ids, after adding what a crash may have kept from being added. */
async function repeat(
  deps: AcceptDeps,
  account: number,
  items: readonly unknown[],
  kept: { id: string; digest: string },
  digest: string,
): Promise<BatchResult[]> {
  refuseOtherBody(kept, digest)
  const plan = readPlan(kept.id)
  return Promise.all(
    items.map(async (item, index): Promise<BatchResult> => {
      const lane = plan.lanes[index]
      if (lane !== undefined) {
        const id = idOf(plan, index, lane)
        const parsed = parseMessageId(id)
        if (parsed && (await messageExists(deps.redis, parsed))) return { index, id }
      }
      const judged = await judge(deps, account, item, Date.now())
      if (judged instanceof Refusal) return { index, error: errorOf(judged) }
      if (lane === undefined) return { index, error: errorOf(refusedBefore) }
      const id = idOf(plan, index, lane)
      await deps.queues.add(id, judged.payload)
      return { index, id }
    }),
  )
}

/** The repeat of a batch makes no message that the first one did not make, whatever has been mended since. */
const refusedBefore = new Refusal(
  'invalid',
  'refused_before',
  'This message was refused when the batch first came; send it again under a new Idempotency-Key.',
)

/** Most faults told of one item: with those of a whole request, 4 MB of nonsense would be answered with 11 MB. */
const ITEM_FAULTS_MAX = 20

const errorOf = ({ code, message, faults }: Refusal): ItemError => ({
  code,
  message,
  details: faults.slice(0, ITEM_FAULTS_MAX),
})
