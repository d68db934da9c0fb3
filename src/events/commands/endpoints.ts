// Creates, changes, tests and replays endpoints, over HTTP and on the command line. Throws a Refusal for what is not possible.

import { existingSenders } from '../../accounts/named-senders.ts'
import { listRetainedSenders, listSenders } from '../../accounts/senders.ts'
import type { EventJob } from '../../jobs/background.ts'
import { newUlid } from '../../kernel/message-id.ts'
import { invalidFields, Refusal } from '../../kernel/refusal.ts'
import type { Seal } from '../../kernel/seal.ts'
import { type EndpointChanges, MOST_ENDPOINTS, type NewEndpoint } from '../../model/events/endpoint.ts'
import { whyUnsafe } from '../../outbound/target-check.ts'
import { createTargetRule } from '../../outbound/target-rule.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { inTime } from '../../redis/errors.ts'
import { addEventJob, withEndpointQueue } from '../store/endpoint-queue.ts'
import {
  changeEndpoint,
  createEndpoint,
  type Endpoint,
  newEndpointId,
  TooManyEndpointsError,
} from '../store/endpoints.ts'
import {
  countReplay,
  createReplay,
  failedDeliveries,
  findReplay,
  newReplayId,
  type ReplayOrder,
} from '../store/replays.ts'

/** `allowPrivate`: networks (CIDR) that endpoints may be in although they are private. */
export interface EndpointCommands {
  redis: Redis
  seal: Seal
  allowPrivate: readonly string[]
}

/** Checks the address, and turns senders into digits. */
async function checked<F extends EndpointChanges>(
  { redis, allowPrivate }: EndpointCommands,
  account: number,
  fields: F,
): Promise<F> {
  const unsafe = fields.url === undefined ? undefined : await whyUnsafe(createTargetRule(allowPrivate), fields.url)
  if (unsafe !== undefined) throw invalidFields([{ path: 'url', message: unsafe }])
  if (fields.senders === undefined || fields.senders.length === 0) return fields
  const all = await listSenders(redis, account)
  const senders = fields.senders.flatMap((name) => existingSenders(all, name, account).map(({ number }) => number))
  return { ...fields, senders: [...new Set(senders)] }
}

/** Creates one; `idOf` gives it another id than the one proposed, as a repeated request does. */
export async function addEndpoint(
  commands: EndpointCommands,
  account: number,
  fields: NewEndpoint,
  idOf = async (proposed: string): Promise<string> => proposed,
): Promise<{ endpoint: Endpoint; secret: string | null }> {
  const { redis, seal } = commands
  const safe = await checked(commands, account, fields)
  const [nowMs, id] = [await redisNowMs(redis), await idOf(newEndpointId())]
  return createEndpoint(redis, account, safe, { seal, nowMs, id }).catch((error: unknown) => {
    if (!(error instanceof TooManyEndpointsError)) throw error
    throw new Refusal('conflict', 'too_many_endpoints', `An account may have ${MOST_ENDPOINTS} endpoints.`)
  })
}

/** Changes one. */
export async function alterEndpoint(
  commands: EndpointCommands,
  endpoint: Endpoint,
  changes: EndpointChanges,
): Promise<Endpoint> {
  const safe = await checked(commands, endpoint.account, changes)
  if (Object.keys(safe).length === 0) throw invalidFields([{ path: '', message: 'give at least one field to change' }])
  return changeEndpoint(commands.redis, endpoint, safe)
}

const addJob = (redis: Redis, endpoint: Endpoint, job: EventJob, jobId: string): Promise<void> =>
  withEndpointQueue(redis, endpoint, (queue) =>
    inTime(redis, () => addEventJob(redis, queue, endpoint, job, { waitMs: 0, jobId })),
  )

/** Queues a test event; resolves to the id of the delivery. */
export async function testEndpoint(redis: Redis, endpoint: Endpoint): Promise<string> {
  const nowMs = await redisNowMs(redis)
  const delivery = `tst_${newUlid(nowMs)}`
  await addJob(redis, endpoint, { v: 1, kind: 'test', at: nowMs }, delivery)
  return delivery
}

/** Queues a replay; resolves to its id. `idOf` as in `addEndpoint`. */
export async function replayEvents(
  redis: Redis,
  endpoint: Endpoint,
  order: ReplayOrder,
  idOf = async (proposed: string): Promise<string> => proposed,
): Promise<string> {
  const nowMs = await redisNowMs(redis)
  const id = await idOf(newReplayId(nowMs))
  if ((await findReplay(redis, endpoint, id)) === undefined) await createReplay(redis, endpoint, id, { order, nowMs })
  await addJob(redis, endpoint, { v: 1, kind: 'replay', replay: id }, id)
  return id
}

/** How many events a replay would deliver; `complete` is false when there may be more. */
export async function countReplayed(
  redis: Redis,
  endpoint: Endpoint,
  order: ReplayOrder,
): Promise<{ matched: number; complete: boolean }> {
  if (!order.failedOnly) {
    const senders = new Map((await listRetainedSenders(redis, endpoint.account)).map(({ id, number }) => [id, number]))
    return countReplay(redis, endpoint, order, (lane) => senders.get(lane))
  }
  const found = await withEndpointQueue(redis, endpoint, (queue) => inTime(redis, () => failedDeliveries(queue, order)))
  return { matched: found.reduce((sum, { data }) => sum + data.refs.length, 0), complete: true }
}
