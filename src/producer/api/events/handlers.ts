// Events: the feed and the endpoints. The producer only records; the relay of a worker delivers.

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
  listAllEndpoints,
  listEndpoints,
  removeEndpoint,
} from '../../../events/store/endpoints.ts'
import { notePull } from '../../../events/store/outbox.ts'
import { pullEvents } from '../../../events/store/pull.ts'
import { readCursor, writeCursor } from '../../../events/store/pull-cursor.ts'
import { findReplay } from '../../../events/store/replays.ts'
import type { Config } from '../../../kernel/config.ts'
import { iso, isoOrNull } from '../../../kernel/instant.ts'
import type { Seal } from '../../../kernel/seal.ts'
import { isFailing } from '../../../model/events/endpoint.ts'
import { redisNowMs } from '../../../redis/clock.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import type { Caller } from '../../route.ts'
import { created, lists, queued, says, shows } from '../answers.ts'
import { addressOf, badCursor, byAge, found, idFor, pageOfAll } from '../requests.ts'
import { events } from './routes.ts'

interface EventDeps {
  redis: Redis
  config: Pick<Config, 'events' | 'publicUrl'>
  seal: Seal
}

export function eventRoutes({ redis, config, seal }: EventDeps): Route[] {
  const commands = { redis, seal, allowPrivate: config.events.allowPrivate }

  const own = async ({ params, caller }: { params: { id: string }; caller: Caller }): Promise<Endpoint> =>
    found(await findEndpoint(redis, caller.account, params.id), 'The endpoint')

  return bind(events)({
    async pull({ query, caller }) {
      const { account } = caller
      const after = query.after === undefined ? new Map() : readCursor(query.after)
      if (after === undefined) throw badCursor('after')
      await notePull(redis, account)
      const { types, limit, include_content: includeContent } = query
      const page = await pullEvents(redis, { account, after, types: types && new Set(types), limit, includeContent })
      return { body: { status: true, data: page.events, next: writeCursor(page.next) } }
    },
    async create(call) {
      const idOf = (proposed: string) => idFor(redis, call, 'event-endpoints', proposed)
      const { endpoint, secret } = await addEndpoint(commands, call.caller.account, call.body, idOf)
      return created({ ...endpointDocument(endpoint), secret })
    },
    async list({ caller, query: { failing, ...page } }) {
      const account = accountOf(caller)
      const all = account === undefined ? await listAllEndpoints(redis) : await listEndpoints(redis, account)
      const shown = all.map(endpointDocument).filter((each) => !failing || isFailing(each))
      return lists(pageOfAll(shown, byAge, page))
    },
    async show(call) {
      return shows('endpoint', endpointDocument(await own(call)))
    },
    async change(call) {
      const changed = await alterEndpoint(commands, await own(call), call.body)
      call.audit({ detail: changesIn(call.body) })
      return shows('changed', endpointDocument(changed))
    },
    async remove(call) {
      await removeEndpoint(redis, await own(call))
      return says('removed')
    },
    async rotate(call) {
      return shows('rotated', {
        secret: await rotateSecret(redis, await own(call), { seal, nowMs: await redisNowMs(redis) }),
      })
    },
    async test(call) {
      return queued({ delivery: await testEndpoint(redis, await own(call)) })
    },
    async replay(call) {
      const endpoint = await own(call)
      const nowMs = await redisNowMs(redis)
      const { since, until = nowMs, types, failed_only, dry_run } = call.body
      const order = { sinceMs: since, untilMs: Math.min(until, nowMs), types, failedOnly: failed_only }
      if (dry_run) {
        call.audit('nothing')
        return shows('nothing was delivered', await countReplayed(redis, endpoint, order))
      }
      const idOf = (proposed: string) => idFor(redis, call, `event-replays ${endpoint.id}`, proposed)
      const id = await replayEvents(redis, endpoint, order, idOf)
      const status_url = addressOf(config, call, `/event-endpoints/${endpoint.id}/replays/${id}`)
      return queued({ replay_id: id, status_url })
    },
    async replayed(call) {
      const id = call.params.replay
      const { state, delivered, created_at, ended_at } = found(
        await findReplay(redis, await own(call), id),
        'The replay',
      )
      return shows(state, {
        ...{ replay_id: id, state, delivered, created_at: iso(created_at) },
        ended_at: isoOrNull(ended_at),
      })
    },
    async attempts(call) {
      const { account, id } = await own(call)
      const { cursor, ...query } = call.query
      const page = await listAttempts(redis, account, id, { ...query, cursor, nowMs: Date.now() })
      if (page === undefined) throw badCursor()
      return lists({ data: page.attempts, next: page.next })
    },
  })
}

/** What was changed of an endpoint: `enable` and `disable` are not the same. */
const changesIn = ({ enabled, ...others }: { enabled?: boolean | undefined }): string =>
  [...(enabled === undefined ? [] : [enabled ? 'enable' : 'disable']), ...Object.keys(others)].join(',')
