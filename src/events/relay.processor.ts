// The relay: one worker at a time keeps the outboxes open and delivers events to the endpoints. Each endpoint has a loop of
// its own (endpoint-delivery.ts), so that none waits for another.
//
// Two relays at once, as after one was frozen, repeat events and do no other harm: an endpoint's cursors move by
// compare-and-set (store/scripts/cursor-move.lua).

import { listRetainedSenders } from '../accounts/senders.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import type { Seal } from '../kernel/seal.ts'
import { createTargetRule } from '../outbound/target-rule.ts'
import { runningRedisClock } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'
import { whereAnswered } from '../redis/each-server.ts'
import { withTimeout } from '../redis/errors.ts'
import { rootKeys } from '../redis/keys.ts'
import { deleteIf, ELECTED_MS, holdLease } from '../redis/lock.ts'
import { CorruptRecordError, corruptOrThrow } from '../redis/records.ts'
import { noteStatus } from './delivery-status.ts'
import { type EndpointDelivery, startEndpointDelivery } from './endpoint-delivery.ts'
import { dueQueues, noteDue, noteQueues, postponeCheck, type QueueOwner, removeQueue } from './store/endpoint-queue.ts'
import { type Endpoint, findEndpoint, listReadableEndpoints } from './store/endpoints.ts'
import { listenAgain, listeningAccounts, maintainOutboxes } from './store/outbox.ts'

/** How often a worker runs for election, and the relay reads changes of endpoints. */
const ELECT_MS = 800
/** How often outboxes are maintained. */
const MAINTAIN_MS = 5_000
/** How often accounts are searched whose outboxes should be open but are not. */
const LISTEN_AGAIN_MS = 60_000
/** Queues of endpoints checked at a time. */
const MOST_DUE = 1_000
/** Delay before removing the queue of a removed endpoint is tried again. */
const REMOVE_AGAIN_MS = 5_000
/** How long a stop waits for Redis. */
const LAST_WORDS_MS = 500

/** Dependencies of delivery. `worker` is the name of this process. */
export interface RelayDeps {
  redis: Redis
  config: Pick<Config, 'events'>
  log: Log
  seal: Seal
  worker: string
}

/** Takes part in the election, and delivers while it is elected. */
export function startRelay(deps: RelayDeps) {
  const { redis, config, log, worker } = deps
  const rule = createTargetRule(config.events.allowPrivate)
  const nowMs = runningRedisClock(redis, rootKeys.relay)
  const deliveries = new Map<string, EndpointDelivery>()
  let isRelay = false
  let electedAt = Number.NEGATIVE_INFINITY
  let listenedAt = Number.NEGATIVE_INFINITY
  let isStopped = false
  /** Unreadable records, as of the last refresh. */
  let warned: ReadonlySet<string> = new Set()

  const nameOf = ({ account, id }: QueueOwner): string => `${account} ${id}`

  /** What is told of an account: its endpoints and its senders, or none of them with the records that cannot be read. */
  async function readAccount(account: number) {
    const { endpoints, unreadable } = await listReadableEndpoints(redis, account)
    const kept = endpoints.length === 0 ? [] : await listRetainedSenders(redis, account).catch(corruptOrThrow)
    // Without the sender's number its events would go to the wrong endpoints, or to none: they wait until it is mended.
    return kept instanceof CorruptRecordError
      ? { account, endpoints: [], senders: [], unreadable: [...unreadable, kept] }
      : { account, endpoints, senders: kept, unreadable }
  }

  /**
   * Starts, updates and stops deliveries, so that every existing endpoint has one. Those of an account whose server of a cluster does not
   * answer stay as they are.
   */
  async function refresh(): Promise<void> {
    const current = new Map<string, Endpoint>()
    const unreadable: CorruptRecordError[] = []
    const listening = await listeningAccounts(redis)
    const answered = await whereAnswered(redis, listening, { what: 'endpoints', ask: readAccount })
    // Another worker may be the relay by now.
    if (!isRelay) return
    const away = new Set(listening)
    for (const { account, endpoints, senders: kept, unreadable: broken } of answered) {
      away.delete(account)
      unreadable.push(...broken)
      const senders = new Map(kept.map((sender) => [sender.id, sender]))
      for (const endpoint of endpoints) {
        const name = nameOf(endpoint)
        current.set(name, endpoint)
        const delivery = deliveries.get(name)
        if (delivery) delivery.update(endpoint, senders)
        else if (!isStopped) deliveries.set(name, startEndpointDelivery({ ...deps, rule, nowMs }, endpoint, senders))
      }
    }
    for (const [name, delivery] of deliveries) {
      if (current.has(name) || away.has(delivery.owner.account)) continue
      deliveries.delete(name)
      await delivery.stop(LAST_WORDS_MS)
      await noteDue(redis, delivery.owner, 0)
    }
    warnOf(unreadable)
  }

  /** Once, for as long as a record is unreadable. */
  function warnOf(errors: readonly CorruptRecordError[]): void {
    for (const err of errors) if (!warned.has(err.message)) log.warn({ err }, 'background_task.failed')
    warned = new Set(errors.map(({ message }) => message))
  }

  /** Works on queues with a due job, and removes those of removed endpoints. */
  async function checkQueues(): Promise<void> {
    const owners = [...deliveries.values()].map(({ owner }) => owner)
    await noteQueues(redis, owners)
    await whereAnswered(redis, await dueQueues(redis, MOST_DUE), { what: 'queue', nameOf, ask: checkQueue })
  }

  async function checkQueue(owner: QueueOwner): Promise<void> {
    const delivery = deliveries.get(nameOf(owner))
    if (delivery) return delivery.checkQueue()
    await postponeCheck(redis, owner, REMOVE_AGAIN_MS)
    const endpoint = await findEndpoint(redis, owner.account, owner.id).catch(corruptOrThrow)
    if (endpoint === undefined) await removeQueue(redis, owner)
    else if (!(endpoint instanceof CorruptRecordError)) await noteDue(redis, owner, ELECT_MS)
  }

  async function stopAll(limitMs: number): Promise<void> {
    const stopping = [...deliveries.values()].map((delivery) => delivery.stop(limitMs))
    deliveries.clear()
    await Promise.all(stopping)
  }

  // While Redis is away nobody is elected: another worker may be the relay when it is back, or is it by now. By itself, because the
  // election may be waiting for a Redis that does not answer.
  const lapsing = repeatedly(
    ELECT_MS,
    async () => {
      if (!isRelay || performance.now() - electedAt <= ELECTED_MS) return
      isRelay = false
      await stopAll(LAST_WORDS_MS)
    },
    log,
  )
  const electing = repeatedly(
    ELECT_MS,
    async () => {
      isRelay = await holdLease(redis, rootKeys.relay, { holder: worker, ms: ELECTED_MS })
      if (!isRelay) return stopAll(LAST_WORDS_MS)
      electedAt = performance.now()
      await refresh()
      await checkQueues()
    },
    log,
  )
  const maintaining = repeatedly(
    MAINTAIN_MS,
    async () => {
      if (!isRelay) return
      if (performance.now() - listenedAt > LISTEN_AGAIN_MS) {
        await listenAgain(redis)
        listenedAt = performance.now()
      }
      await whereAnswered(redis, await listeningAccounts(redis), {
        what: 'outboxes',
        ask: (account) => maintainOutboxes(redis, account, config.events.retentionMs),
      })
      await noteStatus(redis, [...deliveries.values()], await nowMs())
    },
    log,
  )
  return {
    /** Ends delivery, and lets another worker be the relay. */
    async stop(limitMs: number): Promise<void> {
      isStopped = true
      lapsing.stop()
      electing.stop()
      maintaining.stop()
      await stopAll(Math.min(limitMs, 2_000))
      if (isRelay) await withTimeout(LAST_WORDS_MS, deleteIf(redis, rootKeys.relay, worker)).catch(() => {})
    },
  }
}
