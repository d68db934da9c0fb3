// Endpoints of events: who is told what. The producer only writes down; the relay tells.
import { checkedKey, refuseOtherBody } from '../../accept/idempotency-key.ts'
import type { Seal } from '../../accounts/seal.ts'
import { listSenders } from '../../accounts/store/senders.ts'
import type { Config } from '../../config.ts'
import { type EndpointChanges, MOST_ENDPOINTS } from '../../events/endpoint.ts'
import { whyUnsafe } from '../../events/resolve-target.ts'
import { createTargetRule } from '../../events/safe-targets.ts'
import { listAttempts } from '../../events/store/attempts.ts'
import { addEventJob, openEndpointQueue } from '../../events/store/endpoint-queue.ts'
import {
  changeEndpoint,
  createEndpoint,
  type Endpoint,
  endpointDocument,
  findEndpoint,
  listEndpoints,
  newEndpointId,
  removeEndpoint,
  rotateSecret,
  TooManyEndpointsError,
} from '../../events/store/endpoints.ts'
import { failedDeliveries } from '../../events/store/failed-deliveries.ts'
import { countReplay, createReplay, findReplay, newReplayId, type ReplayOrder } from '../../events/store/replays.ts'
import type { EventJob } from '../../jobs/events.ts'
import { newUlid } from '../../messages/message-id.ts'
import { bodyDigest, rememberKey } from '../../messages/store/idempotency.ts'
import type { Redis } from '../../redis/connect.ts'
import { redisNowMs } from '../../redis/heartbeats.ts'
import { inTime } from '../../redis/open-queue.ts'
import { named } from '../../requeue/accept-requeue.ts'
import { ApiError, invalid, notFound } from '../errors.ts'
import type { Caller, CallOf, Handlers } from '../route.ts'
import type { events } from '../routes/events.ts'

/** What the handlers need. */
export interface EndpointDeps {
  redis: Redis
  config: Pick<Config, 'events'>
  seal: Seal
}

type EndpointRoutes = Omit<typeof events, 'pull'>

/** Handlers of `/event-endpoints`. */
export function endpointHandlers({ redis, config, seal }: EndpointDeps): Handlers<EndpointRoutes> {
  const rule = createTargetRule(config.events.allowPrivate)

  async function own({ params, caller }: { params: { id: string }; caller: Caller }): Promise<Endpoint> {
    const endpoint = await findEndpoint(redis, caller.account, params.id)
    if (endpoint === undefined) throw notFound('The endpoint')
    return endpoint
  }

  /** The address judged, and senders as digits. */
  async function checked<F extends EndpointChanges>(account: number, fields: F): Promise<F> {
    const unsafe = fields.url === undefined ? undefined : await whyUnsafe(rule, fields.url)
    if (unsafe !== undefined) throw invalid([{ path: 'url', message: unsafe }])
    if (fields.senders === undefined || fields.senders.length === 0) return fields
    const all = await listSenders(redis, account)
    const senders = fields.senders.flatMap((name) => named(all, name).map(({ number }) => number))
    return { ...fields, senders: [...new Set(senders)] }
  }

  async function addJob(endpoint: Endpoint, job: EventJob, jobId: string): Promise<void> {
    const queue = openEndpointQueue(redis, endpoint)
    try {
      await inTime(redis, () => addEventJob(redis, queue, endpoint, job, { waitMs: 0, jobId, nowMs: Date.now() }))
    } finally {
      await queue.close()
    }
  }

  /** The id that a request with an Idempotency-Key stands for, or the one that is proposed. */
  async function idFor(
    route: string,
    { caller, headers, sent }: Pick<CallOf<EndpointRoutes['create']>, 'caller' | 'headers' | 'sent'>,
    proposed: string,
  ): Promise<string> {
    const key = checkedKey(headers['Idempotency-Key'])
    if (key === undefined) return proposed
    const digest = bodyDigest(sent)
    const kept = await rememberKey(redis, { account: caller.account, route, key }, { id: proposed, digest })
    refuseOtherBody(kept, digest)
    return kept.id
  }

  return {
    async create(call) {
      const { account } = call.caller
      const fields = await checked(account, call.body)
      const nowMs = await redisNowMs(redis)
      const id = await idFor('event-endpoints', call, newEndpointId())
      const made = await createEndpoint(redis, account, fields, { seal, nowMs, id }).catch((error: unknown) => {
        if (!(error instanceof TooManyEndpointsError)) throw error
        throw new ApiError(422, 'too_many_endpoints', `An account may have ${MOST_ENDPOINTS} endpoints.`)
      })
      const data = { ...endpointDocument(made.endpoint), secret: made.secret }
      return { status: 201, body: { status: true, message: 'created', data } }
    },
    async list({ caller }) {
      const found = await listEndpoints(redis, caller.account)
      return { body: { status: true, data: found.map(endpointDocument), next: null } }
    },
    async show(call) {
      return { body: { status: true, message: 'endpoint', data: endpointDocument(await own(call)) } }
    },
    async change(call) {
      const endpoint = await own(call)
      const changes = await checked(endpoint.account, call.body)
      if (Object.keys(changes).length === 0) throw invalid([{ path: '', message: 'give at least one field to change' }])
      const changed = await changeEndpoint(redis, endpoint, changes)
      return { body: { status: true, message: 'changed', data: endpointDocument(changed) } }
    },
    async remove(call) {
      await removeEndpoint(redis, await own(call))
      return { body: { status: true, message: 'removed' } }
    },
    async rotate(call) {
      const secret = await rotateSecret(redis, await own(call), { seal, nowMs: Date.now() })
      return { body: { status: true, message: 'rotated', data: { secret } } }
    },
    async test(call) {
      const endpoint = await own(call)
      const nowMs = Date.now()
      const delivery = `tst_${newUlid(nowMs)}`
      await addJob(endpoint, { v: 1, kind: 'test', at: nowMs }, delivery)
      return { status: 202, body: { status: true, message: 'queued', data: { delivery } } }
    },
    async replay(call) {
      const endpoint = await own(call)
      const nowMs = await redisNowMs(redis)
      const { since, until = nowMs, types, failed_only, dry_run } = call.body
      const order = { sinceMs: since, untilMs: Math.min(until, nowMs), types, failedOnly: failed_only }
      if (dry_run) {
        const data = await matching(redis, endpoint, order)
        return { body: { status: true, message: 'nothing was told', data } }
      }
      const id = await idFor(`event-replays ${endpoint.id}`, call, newReplayId(nowMs))
      if ((await findReplay(redis, endpoint, id)) === undefined)
        await createReplay(redis, endpoint, id, { order, nowMs })
      await addJob(endpoint, { v: 1, kind: 'replay', replay: id }, id)
      const status_url = `/event-endpoints/${endpoint.id}/replays/${id}`
      return { status: 202, body: { status: true, message: 'queued', data: { replay_id: id, status_url } } }
    },
    async replayed(call) {
      const endpoint = await own(call)
      const found = await findReplay(redis, endpoint, call.params.replay)
      if (found === undefined) throw notFound('The replay')
      const { state, told, created_at, ended_at } = found
      const data = {
        ...{ replay_id: call.params.replay, state, told, created_at: iso(created_at) },
        ended_at: ended_at === undefined ? null : iso(ended_at),
      }
      return { body: { status: true, message: state, data } }
    },
    async attempts(call) {
      const { account, id } = await own(call)
      const page = await listAttempts(redis, account, id, {
        ...call.query,
        cursor: call.query.cursor,
        nowMs: Date.now(),
      })
      if (page === undefined) throw invalid([{ path: 'cursor', message: 'expected what an earlier page had as next' }])
      return { body: { status: true, data: page.attempts, next: page.next } }
    },
  }
}

/** What a replay would tell. */
async function matching(redis: Redis, endpoint: Endpoint, order: ReplayOrder) {
  if (!order.failedOnly) {
    const senders = new Map((await listSenders(redis, endpoint.account)).map(({ id, number }) => [id, number]))
    return countReplay(redis, endpoint, order, (lane) => senders.get(lane))
  }
  const queue = openEndpointQueue(redis, endpoint)
  try {
    const found = await inTime(redis, () => failedDeliveries(queue, order))
    return { matched: found.reduce((sum, { data }) => sum + data.refs.length, 0), complete: true }
  } finally {
    await queue.close()
  }
}

const iso = (ms: number): string => new Date(ms).toISOString()
