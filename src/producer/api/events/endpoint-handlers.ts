// Endpoints of events: who is told what. The producer only writes down; the relay tells.

import type { Seal } from '../../../accounts/seal.ts'
import type { Config } from '../../../config.ts'
import {
  addEndpoint,
  alterEndpoint,
  countReplayed,
  replayEvents,
  testEndpoint,
} from '../../../events/commands/endpoints.ts'
import { listAttempts } from '../../../events/store/attempts.ts'
import { rotateSecret } from '../../../events/store/endpoint-secrets.ts'
import {
  type Endpoint,
  endpointDocument,
  findEndpoint,
  listEndpoints,
  removeEndpoint,
} from '../../../events/store/endpoints.ts'
import { findReplay } from '../../../events/store/replays.ts'
import { checkedKey, refuseOtherBody } from '../../../messages/accept/idempotency-key.ts'
import { bodyDigest, rememberKey } from '../../../messages/store/idempotency.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import type { Redis } from '../../../redis/connect.ts'
import { invalid, notFound } from '../../errors.ts'
import type { Caller, CallOf, Handlers } from '../../route.ts'
import { byAge, pageOfAll } from '../pages.ts'
import type { events } from './routes.ts'

/** What the handlers need. */
export interface EndpointDeps {
  redis: Redis
  config: Pick<Config, 'events' | 'publicUrl'>
  seal: Seal
}

type EndpointRoutes = Omit<typeof events, 'pull'>

/** Handlers of `/event-endpoints`. */
export function endpointHandlers({ redis, config, seal }: EndpointDeps): Handlers<EndpointRoutes> {
  const commands = { redis, seal, allowPrivate: config.events.allowPrivate }

  async function own({ params, caller }: { params: { id: string }; caller: Caller }): Promise<Endpoint> {
    const endpoint = await findEndpoint(redis, caller.account, params.id)
    if (endpoint === undefined) throw notFound('The endpoint')
    return endpoint
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
      const idOf = (proposed: string) => idFor('event-endpoints', call, proposed)
      const { endpoint, secret } = await addEndpoint(commands, call.caller.account, call.body, idOf)
      return {
        status: 201,
        body: { status: true, message: 'created', data: { ...endpointDocument(endpoint), secret } },
      }
    },
    async list({ caller, query }) {
      const all = (await listEndpoints(redis, caller.account)).map(endpointDocument)
      return { body: { status: true, ...pageOfAll(all, byAge, query) } }
    },
    async show(call) {
      return { body: { status: true, message: 'endpoint', data: endpointDocument(await own(call)) } }
    },
    async change(call) {
      const changed = await alterEndpoint(commands, await own(call), call.body)
      return { body: { status: true, message: 'changed', data: endpointDocument(changed) } }
    },
    async remove(call) {
      await removeEndpoint(redis, await own(call))
      return { body: { status: true, message: 'removed' } }
    },
    async rotate(call) {
      const secret = await rotateSecret(redis, await own(call), { seal, nowMs: await redisNowMs(redis) })
      return { body: { status: true, message: 'rotated', data: { secret } } }
    },
    async test(call) {
      const delivery = await testEndpoint(redis, await own(call))
      return { status: 202, body: { status: true, message: 'queued', data: { delivery } } }
    },
    async replay(call) {
      const endpoint = await own(call)
      const nowMs = await redisNowMs(redis)
      const { since, until = nowMs, types, failed_only, dry_run } = call.body
      const order = { sinceMs: since, untilMs: Math.min(until, nowMs), types, failedOnly: failed_only }
      if (dry_run) {
        const data = await countReplayed(redis, endpoint, order)
        return { body: { status: true, message: 'nothing was told', data } }
      }
      const idOf = (proposed: string) => idFor(`event-replays ${endpoint.id}`, call, proposed)
      const id = await replayEvents(redis, endpoint, order, idOf)
      const status_url = `${config.publicUrl ?? call.origin()}/event-endpoints/${endpoint.id}/replays/${id}`
      return { status: 202, body: { status: true, message: 'queued', data: { replay_id: id, status_url } } }
    },
    async replayed(call) {
      const endpoint = await own(call)
      const found = await findReplay(redis, endpoint, call.params.replay)
      if (found === undefined) throw notFound('The replay')
      const { state, delivered, created_at, ended_at } = found
      const data = {
        ...{ replay_id: call.params.replay, state, delivered, created_at: iso(created_at) },
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

const iso = (ms: number): string => new Date(ms).toISOString()
