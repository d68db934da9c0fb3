// What the version before left behind (test/fixtures/README.md), put into a Redis and a data folder as if it had been
// stopped a moment ago: every time in it is moved by the same span.
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { acceptedAtMs, newUlid } from '../../src/messages/message-id.ts'
import type { Redis } from '../../src/redis/connect.ts'

const FOLDER = 'test/fixtures/upgrade'
/** Times within this span of the fixture's own moment are times; other numbers of their length are not. */
const NEAR_MS = 40 * 86_400_000

const name = z.enum(['harbour', 'quay', 'pier'])
const sender = z.object({ lane: z.int(), number: z.string(), phone_number_id: z.string() })
const message = z.object({
  account: name,
  id: z.string(),
  to: z.string(),
  what: z.string(),
  becomes: z.enum(['same', 'sent', 'repeated', 'unknown', 'polled', 'expired', 'held']),
  info: z.looseObject({ status: z.string(), timestamp: z.int() }),
  delivery: z.object({ status: z.string(), error_message: z.string().nullable() }),
})
const campaign = z.object({
  id: z.string(),
  recipients: z.array(z.string()),
  told: z.looseObject({
    state: z.string(),
    reason: z.string().nullable(),
    progress: z.record(z.string(), z.unknown()),
  }),
})
const expectedSchema = z.object({
  at_ms: z.int(),
  secret_key: z.string(),
  app_secret: z.string(),
  inbound: z.string(),
  tag: z.int(),
  accounts: z.record(
    name,
    z.object({
      id: z.int(),
      key: z.string(),
      expired_key: z.string(),
      revoked_key: z.string(),
      senders: z.record(z.string(), sender),
    }),
  ),
  messages: z.array(message),
  campaigns: z.record(z.string(), campaign),
  idempotency: z.array(
    z.object({ account: name, path: z.string(), key: z.string(), body: z.looseObject({}), answer: z.unknown() }),
  ),
  jobs: z.object({
    sends: z.array(z.object({ what: z.string(), id: z.string(), to: z.string() })),
    refused: z.string(),
    create: z.string(),
    show: z.string(),
    start: z.string(),
    wrong_key: z.string(),
  }),
  answered: z.object({
    done: z.object({ id: z.string(), answer: z.unknown() }),
    refused: z.object({ id: z.string(), reason: z.string() }),
  }),
  gallery: z.object({
    folders: z.object({ spring: z.int(), autumn: z.int() }),
    files: z.object({ note: z.int(), pixel: z.int(), in_trash: z.int() }),
    move: z.string(),
    listed: z.record(z.string(), z.array(z.looseObject({ id: z.int(), name: z.string() }))),
  }),
  /** Recipients in the order in which the chat product took their messages. */
  sent: z.array(z.string()),
})
export type Expected = z.infer<typeof expectedSchema>

const line = z.discriminatedUnion('type', [
  z.object({ type: z.literal('string'), key: z.string(), ttl: z.int().optional(), value: z.string() }),
  z.object({
    type: z.literal('hash'),
    key: z.string(),
    ttl: z.int().optional(),
    value: z.record(z.string(), z.string()),
  }),
  z.object({
    type: z.enum(['list', 'set', 'zset']),
    key: z.string(),
    ttl: z.int().optional(),
    value: z.array(z.string()),
  }),
])

/** The environment without which the fixture cannot be read. */
export function fixtureSecrets() {
  const { secret_key, app_secret } = readExpected((text) => text)
  return { LANEWAY_SECRET_KEY: secret_key, LANEWAY_CLOUD_API_APP_SECRET: app_secret }
}

/** Fills an empty Redis and data folder, and returns what is expected of them, its times moved as well. */
export async function loadUpgradeFixture(redis: Redis, dataDir: string, simulatorUrl: string): Promise<Expected> {
  const { at_ms } = readExpected((text) => text)
  const move = mover(at_ms, Math.floor((Date.now() - at_ms) / 1_000) * 1_000)
  const text = readFileSync(join(FOLDER, 'redis.ndjson'), 'utf8').replaceAll('http://simulator.invalid', simulatorUrl)
  const write = redis.pipeline()
  for (const each of move(text).trimEnd().split('\n')) {
    const { key, ttl, ...holds } = line.parse(JSON.parse(each))
    switch (holds.type) {
      case 'string':
        write.set(key, holds.value)
        break
      case 'hash':
        write.hset(key, holds.value)
        break
      case 'list':
        write.rpush(key, ...holds.value)
        break
      case 'set':
        write.sadd(key, ...holds.value)
        break
      case 'zset':
        // Members and scores take turns, the member first.
        for (let i = 0; i < holds.value.length; i += 2) write.zadd(key, holds.value[i + 1] ?? '', holds.value[i] ?? '')
    }
    if (ttl !== undefined) write.pexpire(key, ttl)
  }
  for (const [error] of (await write.exec()) ?? []) if (error) throw error
  cpSync(join(FOLDER, 'data'), dataDir, { recursive: true })
  return readExpected(move)
}

const readExpected = (move: (text: string) => string): Expected =>
  expectedSchema.parse(JSON.parse(move(readFileSync(join(FOLDER, 'expected.json'), 'utf8'))))

/** Moves every time in a text: ms, µs, ISO 8601, the times of ULIDs, and the two forms in which job ids and BullMQ have them. */
function mover(atMs: number, byMs: number): (text: string) => string {
  const isTime = (ms: number) => Math.abs(ms - atMs) < NEAR_MS
  const moveNumber = (digits: string): string => {
    const value = Number(digits)
    // BullMQ's scores of delayed jobs are ms * 4096, and a counter.
    for (const perMs of digits.length === 13 ? [1] : [1_000, 4_096]) {
      if (isTime(value / perMs)) return String(BigInt(digits) + BigInt(byMs * perMs))
    }
    return digits
  }
  const moveUlid = (ulid: string): string => {
    const ms = acceptedAtMs(ulid)
    return isTime(ms) ? newUlid(ms + byMs).slice(0, 10) + ulid.slice(10) : ulid
  }
  return (text) =>
    text
      .replace(/(?<![0-9A-Za-z])01[0-9A-HJKMNP-TV-Z]{24}(?![0-9A-Za-z])/g, moveUlid)
      .replace(/(?<!\d)(\d{13}|\d{16})(?!\d)/g, moveNumber)
      .replace(/(?<=poll_\d+_)\d{10}(?!\d)/g, (seconds) => String(Number(seconds) + byMs / 1_000))
      .replace(/(?<="timestamp": )\d{10}(?!\d)/g, (seconds) => String(Number(seconds) + byMs / 1_000))
      .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/g, (iso) => {
        const moved = new Date(Date.parse(iso) + byMs).toISOString()
        return isTime(Date.parse(iso)) ? moved.slice(0, 19) + iso.slice(19) : iso
      })
}
