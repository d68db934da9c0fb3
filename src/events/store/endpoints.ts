// Records of endpoints, and when one is switched off because it has failed for too long (scripts/endpoint-note.lua). Secrets
// are encrypted like the tokens of providers.
import { randomBytes } from 'node:crypto'
import { z } from 'zod'
import { listAccounts } from '../../accounts/accounts.ts'
import { iso, isoOrNull } from '../../kernel/instant.ts'
import type { Seal } from '../../kernel/seal.ts'
import {
  type EndpointChanges,
  type EndpointDocument,
  MOST_ENDPOINTS,
  type NewEndpoint,
} from '../../model/events/endpoint.ts'
import { eventTypeSchema } from '../../model/events/event-schema.ts'
import { ENTRY } from '../../model/events/outbox-entry.ts'
import { DISABLED_AFTER_MS } from '../../model/events/retry-times.ts'
import { newSecret } from '../../outbound/signatures.ts'
import type { Redis } from '../../redis/connect.ts'
import { eventKeys } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import {
  CorruptRecordError,
  createInList,
  execOrThrow,
  isThere,
  jsonText,
  readRecord,
  recordOrError,
} from '../../redis/records.ts'
import { clockOffMs } from '../../redis/trusted-clock.ts'
import { noteDue } from './endpoint-queue.ts'
import { sealContextOf } from './endpoint-secrets.ts'
import { listen } from './outbox.ts'

const optionalTime = z.coerce.number().optional()
const flag = z.enum(['0', '1']).transform((value) => value === '1')

const recordSchema = z.object({
  url: z.url(),
  types: jsonText.pipe(z.array(eventTypeSchema)),
  /** Digits of the senders; empty: all. */
  senders: jsonText.pipe(z.array(z.string())),
  include_content: flag,
  max_events: z.coerce.number().int().min(1).max(100),
  max_wait_ms: z.coerce.number().int().min(0),
  enabled: flag,
  disabled_for: z.string().default(''),
  secret: z.string(),
  /** Former secrets that still sign, the latest first, as `until:sealed`, separated by spaces. */
  old_secrets: z.string().default(''),
  created_at: z.coerce.number(),
  failing_since: optionalTime,
  last_success_at: optionalTime,
})

/** An endpoint with its account and id. Secrets are sealed. */
export type Endpoint = z.infer<typeof recordSchema> & { id: string; account: number }

/** `ep_` and 18 random hexadecimal digits. */
export const newEndpointId = (): string => `ep_${randomBytes(9).toString('hex')}`

/** Its account has reached the limit. */
export class TooManyEndpointsError extends Error {
  override name = 'TooManyEndpointsError'
}

/**
 * Creates one and returns its secret; null when it existed and its secret was rotated since. `senders` are digits. Opens the outboxes of
 * its account. An existing endpoint of this `id` stays as it is. Throws a TooManyEndpointsError. Dying before the outboxes are open
 * leaves that to the relay.
 */
export async function createEndpoint(
  redis: Redis,
  account: number,
  fields: NewEndpoint,
  how: { seal: Seal; nowMs: number; id: string },
): Promise<{ endpoint: Endpoint; secret: string | null }> {
  const keys = eventKeys(account)
  const { id } = how
  const isListed = (await redis.zscore(keys.endpoints, id)) !== null
  if (!isListed && (await redis.zcard(keys.endpoints)) >= MOST_ENDPOINTS) throw new TooManyEndpointsError()
  const record = {
    ...stored(fields),
    disabled_for: fields.enabled ? '' : 'by hand',
    secret: how.seal.encrypt(newSecret())(sealContextOf({ account, id })),
    created_at: String(how.nowMs),
  }
  // Of several requests at once with one key, one makes it.
  const entry = { name: id, score: how.nowMs }
  await createInList(redis, { hash: keys.endpoint(id), list: keys.endpoints }, record, entry)
  await listen(redis, account)
  const endpoint = (await findEndpoint(redis, account, id)) ?? readEndpoint(account, id, record)
  const isFirst = endpoint.old_secrets === ''
  return { endpoint, secret: isFirst ? how.seal.decrypt(endpoint.secret, sealContextOf(endpoint)) : null }
}

function stored({ url, types, senders, include_content, batch, enabled }: EndpointChanges): Record<string, string> {
  return {
    ...(url !== undefined && { url }),
    ...(types !== undefined && { types: JSON.stringify(types) }),
    ...(senders !== undefined && { senders: JSON.stringify(senders) }),
    ...(include_content !== undefined && { include_content: include_content ? '1' : '0' }),
    ...(batch !== undefined && { max_events: String(batch.max_events), max_wait_ms: String(batch.max_wait_ms) }),
    ...(enabled !== undefined && { enabled: enabled ? '1' : '0' }),
  }
}

const readEndpoint = (account: number, id: string, raw: unknown): Endpoint => ({
  ...readRecord(recordSchema, `endpoint ${id}`, raw),
  account,
  id,
})

/** The account's endpoint; undefined as well for one of another account. Throws a CorruptRecordError. */
export async function findEndpoint(redis: Redis, account: number, id: string): Promise<Endpoint | undefined> {
  const raw = await redis.hgetall(eventKeys(account).endpoint(id))
  return isThere(raw) ? readEndpoint(account, id, raw) : undefined
}

/** The account's endpoints in the order in which they were created. Throws a CorruptRecordError. */
export async function listEndpoints(redis: Redis, account: number): Promise<Endpoint[]> {
  const { endpoints, unreadable } = await listReadableEndpoints(redis, account)
  for (const error of unreadable) throw error
  return endpoints
}

/** The same, with unreadable records apart: one of them must not stop work for the others. */
export async function listReadableEndpoints(
  redis: Redis,
  account: number,
): Promise<{ endpoints: Endpoint[]; unreadable: CorruptRecordError[] }> {
  const endpoints: Endpoint[] = []
  const unreadable: CorruptRecordError[] = []
  const ids = await redis.zrange(eventKeys(account).endpoints, 0, '-1')
  const hashes = await Promise.all(ids.map((id) => redis.hgetall(eventKeys(account).endpoint(id))))
  for (const [i, hash] of hashes.entries()) {
    const id = ids[i] ?? ''
    if (!isThere(hash)) continue
    const fields = recordOrError(recordSchema, `endpoint ${id}`, hash)
    if (fields instanceof CorruptRecordError) unreadable.push(fields)
    else endpoints.push({ ...fields, account, id })
  }
  return { endpoints, unreadable }
}

/** Accounts that are read at once. */
const ACCOUNTS_AT_ONCE = 200

/** The endpoints of all accounts, account by account. */
export async function listAllEndpoints(redis: Redis): Promise<Endpoint[]> {
  const accounts = (await listAccounts(redis)).map(({ id }) => id)
  const found: Endpoint[] = []
  for (let at = 0; at < accounts.length; at += ACCOUNTS_AT_ONCE) {
    const some = accounts.slice(at, at + ACCOUNTS_AT_ONCE)
    found.push(...(await Promise.all(some.map((account) => listEndpoints(redis, account)))).flat())
  }
  return found
}

/** Changes it. Enabled again, it continues where it stopped, as far as events are kept. */
export async function changeEndpoint(redis: Redis, endpoint: Endpoint, changes: EndpointChanges): Promise<Endpoint> {
  const key = eventKeys(endpoint.account).endpoint(endpoint.id)
  const reason = changes.enabled === undefined ? {} : { disabled_for: changes.enabled ? '' : 'by hand' }
  const transaction = redis.multi().hset(key, { ...stored(changes), ...reason })
  // Its five days start again.
  if (changes.enabled) transaction.hdel(key, 'failing_since')
  await execOrThrow(transaction)
  return (await findEndpoint(redis, endpoint.account, endpoint.id)) ?? endpoint
}

/**
 * Removes it and everything of it except its queue, which the relay removes, even one that starts later. Dying in between leaves the
 * queue to its next check.
 */
export async function removeEndpoint(redis: Redis, { account, id }: Endpoint): Promise<void> {
  const keys = eventKeys(account)
  // Also before: if the process dies in between, the queue is checked soon, not only when its next job is due.
  await noteDue(redis, { account, id }, 0)
  const rest = [keys.cursors(id), keys.attempts(id, 'succeeded'), keys.attempts(id, 'failed')]
  await execOrThrow(
    redis
      .multi()
      .zrem(keys.endpoints, id)
      .del(keys.endpoint(id), ...rest),
  )
  await noteDue(redis, { account, id }, 0)
}

const noteScript = defineScript(import.meta.url, 'endpoint-note', { names: { ENTRY } })
const noteReply = z.enum(['missing', 'noted', 'disabled'])

/**
 * Records how the address of this endpoint answered, unless it has changed; `disabled` after one failure too many, or when the endpoint
 * asked for it (`gone`): then the account's other endpoints get an event.
 */
export async function noteOutcome(
  redis: Redis,
  { account, id, url }: Pick<Endpoint, 'account' | 'id' | 'url'>,
  how: 'succeeded' | 'failed' | 'gone',
  now: number,
): Promise<z.infer<typeof noteReply>> {
  // By an untrusted clock its first failure may seem to be days ago.
  if (how === 'failed' && clockOffMs(redis) !== 0) return 'noted'
  const keys = eventKeys(account)
  const reply = await noteScript(
    redis,
    { endpoint: keys.endpoint(id), outbox: keys.outbox },
    {
      ...{ how: how === 'gone' ? 'disabled' : how, now, longMs: DISABLED_AFTER_MS, id, url },
      ...(how === 'gone' && { reason: 'gone' }),
    },
  )
  return noteReply.parse(reply)
}

/** The public form of an endpoint. */
export const endpointDocument = (endpoint: Endpoint): EndpointDocument => ({
  id: endpoint.id,
  account: endpoint.account,
  url: endpoint.url,
  types: endpoint.types,
  senders: endpoint.senders,
  include_content: endpoint.include_content,
  batch: { max_events: endpoint.max_events, max_wait_ms: endpoint.max_wait_ms },
  enabled: endpoint.enabled,
  disabled_for: endpoint.disabled_for === '' ? null : endpoint.disabled_for,
  created_at: iso(endpoint.created_at),
  failing_since: isoOrNull(endpoint.failing_since),
  last_success_at: isoOrNull(endpoint.last_success_at),
})
