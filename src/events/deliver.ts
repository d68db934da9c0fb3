// One delivery to an endpoint: builds the documents of its events, posts them, and records the result.

import { createHash } from 'node:crypto'
import type { Agent } from 'undici'
import { appendToAuditLog } from '../accounts/audit-log.ts'
import type { Sender } from '../accounts/senders.ts'
import { iso } from '../kernel/instant.ts'
import type { Log } from '../kernel/log.ts'
import type { Seal } from '../kernel/seal.ts'
import { LANEWAY_ITSELF } from '../model/accounts/audit-log.ts'
import type { EventDocument } from '../model/events/event-schema.ts'
import type { PlacedEvent } from '../model/events/outbox-entry.ts'
import type { Redis } from '../redis/connect.ts'
import { observerOf } from '../redis/observe.ts'
import { postEvents } from './post.ts'
import { noteAttempt } from './store/attempts.ts'
import { documentsOf } from './store/documents.ts'
import { secretsAt } from './store/endpoint-secrets.ts'
import { type Endpoint, noteOutcome } from './store/endpoints.ts'

/** A success is recorded at the endpoint at most this often. */
const NOTE_SUCCESS_MS = 5_000

/** An endpoint that is delivered to: its record, and this process's state of it. */
export interface Target {
  endpoint: Endpoint
  agent: Agent
  senders: ReadonlyMap<number, Sender>
  /** Failures in a row, of any kind of delivery. */
  failures: number
  /** Nothing new is delivered before (`performance.now()`). */
  pausedUntil: number
  /** Redis' time, epoch ms. */
  successNotedAt: number
}

/** Dependencies of a delivery; the seal opens its signing secrets. */
export interface DeliveryDeps {
  redis: Redis
  log: Log
  seal: Seal
  /** Redis' time (epoch ms): an endpoint refuses a signature that seems old to it, or of the future. */
  nowMs: () => Promise<number>
}

/** The result of a delivery. `gone`: the endpoint is disabled from now on. `stopped`: this process stops, and the result is unknown. */
export type DeliveryEnd =
  | { kind: 'taken' }
  | { kind: 'failed'; retryAfterMs: number | undefined }
  | { kind: 'gone' }
  | { kind: 'stopped' }

/** The name of an event within its endpoint's jobs. */
export const refOf = ({ source, entry, line }: PlacedEvent): string => `${source}:${entry}:${line}`

/** The id of a delivery: that of its one event, or one made from those of its batch; the same at each try. */
const deliveryId = (refs: readonly string[]): string =>
  `bat_${createHash('sha256').update(refs.join(' ')).digest('base64url').slice(0, 27)}`

/**
 * Delivers these events to the endpoint, in one POST. `attempt` counts from 1; `retryIn` is the delay (ms) before the next try if it
 * fails. Events whose message has expired are left out; with none left nothing is posted.
 */
export async function deliver(
  deps: DeliveryDeps,
  target: Target,
  events: readonly PlacedEvent[],
  how: {
    attempt: number
    retryIn: (retryAfterMs: number | undefined) => number | undefined
    stopped: AbortSignal
    /** Those of a replay, in place of the endpoint's own. */
    types?: readonly string[] | undefined
  },
): Promise<DeliveryEnd> {
  const { endpoint } = target
  const delivery = {
    types: how.types ?? endpoint.types,
    ...{ redis: deps.redis, account: endpoint.account, includeContent: endpoint.include_content },
    senderOf: (lane: number) => target.senders.get(lane),
  }
  const documents = (await documentsOf(delivery, events)).filter((each) => each !== undefined)
  const [first] = documents
  if (first === undefined) return { kind: 'taken' }
  const id = endpoint.max_events === 1 ? first.data.event_id : deliveryId(events.map(refOf))
  const end = await send(deps, target, { id, documents }, how)
  if (end.kind === 'taken') {
    const [observer, nowMs] = [observerOf(deps.redis), await deps.nowMs()]
    for (const { entry } of events) observer.eventDelivered(nowMs - Number.parseInt(entry, 10))
  } else if (end.kind === 'failed') {
    observerOf(deps.redis).eventsNotTaken(events.length)
  }
  return end
}

/** POSTs documents under an id. */
export async function send(
  deps: DeliveryDeps,
  target: Target,
  { id, documents }: { id: string; documents: readonly EventDocument[] },
  how: { attempt: number; retryIn: (retryAfterMs: number | undefined) => number | undefined; stopped: AbortSignal },
): Promise<DeliveryEnd> {
  const { redis, log, seal } = deps
  // The current address: by the time of the answer it may have been changed.
  const { endpoint } = target
  const know = (fields: Partial<Endpoint>): void => {
    if (target.endpoint.url === endpoint.url) target.endpoint = { ...target.endpoint, ...fields }
  }
  const [first] = documents
  const isBatch = endpoint.max_events > 1
  const beganMs = await deps.nowMs()
  const timestamp = iso(beganMs)
  const body = JSON.stringify(isBatch ? { type: 'batch', timestamp, data: documents } : first)
  const post = { id, body, atMs: beganMs }
  const end = await postEvents(target.agent, endpoint.url, secretsAt(endpoint, seal, beganMs), post, how.stopped)
  const { status, problem, answer, retryAfterMs, tookMs } = end
  if (status === undefined && how.stopped.aborted) return { kind: 'stopped' }
  const nowMs = beganMs + tookMs
  const ok = status !== undefined && status >= 200 && status < 300
  const waitMs = ok || status === 410 ? undefined : how.retryIn(retryAfterMs)
  // Written during the next delivery: each write waits for the disk of Redis.
  noteAttempt(redis, endpoint.account, endpoint.id, {
    at: iso(nowMs),
    delivery: id,
    ok,
    events: documents.length,
    types: [...new Set(documents.map(({ type }) => type))],
    attempt: how.attempt,
    status: status ?? null,
    problem: problem ?? null,
    took_ms: tookMs,
    answer,
    retry_at: waitMs === undefined ? null : iso(nowMs + waitMs),
  }).catch((error: unknown) => log.debug({ endpoint: endpoint.id, err: error }, 'events.error'))
  if (ok) {
    target.failures = 0
    target.pausedUntil = 0
    if (endpoint.failing_since !== undefined || nowMs - target.successNotedAt > NOTE_SUCCESS_MS) {
      target.successNotedAt = nowMs
      await noteOutcome(redis, endpoint, 'succeeded', nowMs)
      know({ failing_since: undefined, last_success_at: nowMs })
    }
    return { kind: 'taken' }
  }
  target.failures += 1
  log.debug({ endpoint: endpoint.id, status, problem }, 'events.not_taken')
  const noted = await noteOutcome(redis, endpoint, status === 410 ? 'gone' : 'failed', nowMs)
  if (status !== 410) know({ failing_since: target.endpoint.failing_since ?? nowMs })
  if (noted === 'disabled') {
    log.warn({ account: endpoint.account, endpoint: endpoint.id, status }, 'endpoint.disabled')
    know({ enabled: false })
    const { id, account } = endpoint
    const detail =
      status === 410 ? 'It answered 410: it wants no more events.' : 'It has accepted nothing for five days.'
    const what = { account, action: 'endpoint.disable', target: id, detail }
    await appendToAuditLog(redis, { actor: LANEWAY_ITSELF, ...what }, nowMs)
  }
  return noted !== 'noted' ? { kind: 'gone' } : { kind: 'failed', retryAfterMs }
}
