// How long a page of GET /messages takes over a million messages, by whatever filter, and what the index of them takes.
// The store is written directly, as the steps would leave it: sending a million messages would take minutes.
import { campaignMessageUlid } from '../../src/campaigns/message-ids.ts'
import { newUlid } from '../../src/messages/message-id.ts'
import { markOf } from '../../src/messages/packed-id.ts'
import { type IndexedMessage, indexMessages } from '../../src/messages/store/message-index.ts'
import { FIELDS } from '../../src/messages/store/record-format.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { campaignKey, messageKey, requeueableKey } from '../../src/redis/keys.ts'
import type { Bench } from '../bench.ts'
import { startLaneway } from '../laneway.ts'
import { usedMemory } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'

const MESSAGES = 1_000_000
/** Of them, messages of one campaign, which are indexed by their places. */
const OF_CAMPAIGN = 200_000
const RECIPIENTS = 10_000
const AT_ONCE = 1_000
const RETENTION_MS = 30 * 86_400_000
/** A lane of 10 messages a day, of which a segment holds those of a week. */
const FEW = 70
const PAGES = 200

const TEXT = 'Your parcel left our house today and will reach you on one of the next two working days. '
  .repeat(3)
  .slice(0, 200)

export async function find(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: 3, profile: bench.profile })
  const { client } = laneway.redis
  const [lane = 1, quiet = 2] = laneway.laneIds
  await laneway.hold()
  const figures = await bytes(bench, client, lane, quiet)
  const pages: [what: string, query: (n: number) => string][] = [
    ['first page', () => ''],
    ['by recipient', (n) => `to=${recipientOf(n * 37)}`],
    ['by state, delivered', () => 'state=delivered'],
    ['by state, failed, one in 200', () => 'state=failed'],
    ['by state, unknown, ten in all', () => 'state=unknown'],
    ['by state, read, one in 10,000', () => 'state=read'],
    ['by code', () => 'code=131026'],
    ['by campaign', () => `campaign=cmp_${lane}_1`],
    ['by recipient and state', (n) => `to=${recipientOf(n * 41)}&state=failed`],
  ]
  for (const [what, query] of pages) {
    bench.progress(`pages ${what}`)
    const times: number[] = []
    let found = 0
    for (let n = 0; n < PAGES; n += 1) {
      const from = performance.now()
      const answer = await fetch(`http://127.0.0.1:${laneway.port}/messages?${query(n)}`, {
        headers: { authorization: `Bearer ${laneway.key}` },
      })
      const text = await answer.text()
      times.push(performance.now() - from)
      if (answer.status !== 200) throw new Error(`${what}: ${answer.status} ${text}`)
      found += text.split('"id":').length - 1
    }
    times.sort((a, b) => a - b)
    const at = (share: number): number => times[Math.floor(times.length * share)] ?? Number.NaN
    const figure = (name: string, value: number): Figure => ({
      scenario: 'find',
      what: `page ${what} (${Math.round(found / PAGES)} messages), ${name}`,
      value,
      unit: 'ms',
    })
    figures.push(figure('p50', at(0.5)), withGoal(figure('p99', at(0.99)), '< 300'))
  }
  return figures
}

const recipientOf = (n: number): string => String(4_917_000_000_000 + (n % RECIPIENTS))

async function bytes(bench: Bench, client: Redis, lane: number, quiet: number): Promise<Figure[]> {
  const figure = (what: string, value: number): Figure =>
    withGoal({ scenario: 'find', what: `index, ${what}`, value, unit: 'bytes a message' }, '< 41')
  const before = await usedMemory(client)
  for (let i = 0; i < FEW; i += 1) await indexMessages(client, quiet, [single(i)], RETENTION_MS)
  const afterFew = await usedMemory(client)
  let inIndex = 0
  const startedAt = Date.now()
  await client.hset(campaignKey(lane, 1), { state: 'done', total: OF_CAMPAIGN })
  for (let i = 0; i < MESSAGES; i += AT_ONCE) {
    if (i % 100_000 === 0) bench.progress(`writing messages, ${i.toLocaleString('en')}`)
    const batch = Array.from({ length: AT_ONCE }, (_, k) =>
      i + k < OF_CAMPAIGN ? ofCampaign(lane, startedAt, i + k) : single(i + k),
    )
    const from = await usedMemory(client)
    await indexMessages(client, lane, batch, RETENTION_MS)
    inIndex += (await usedMemory(client)) - from
    await write(client, lane, batch, i)
  }
  return [
    figure('70 messages of a week', (afterFew - before) / FEW),
    figure(`${MESSAGES.toLocaleString('en')} messages, a fifth of a campaign`, inIndex / MESSAGES),
  ]
}

const single = (i: number): IndexedMessage => ({
  ulid: newUlid(Date.now()),
  to: recipientOf(i),
  until: Date.now() + 86_400_000,
})
const ofCampaign = (lane: number, startedAt: number, i: number): IndexedMessage => ({
  ...single(i),
  ulid: campaignMessageUlid(`cmp_${lane}_1`, startedAt, i, recipientOf(i)),
  run: 1,
})

async function write(client: Redis, lane: number, batch: readonly IndexedMessage[], from: number): Promise<void> {
  const pipeline = client.pipeline()
  for (const [k, { ulid, to, until, run }] of batch.entries()) {
    const i = from + k
    const state = i % 200 === 0 ? 'f' : i % 100_000 === 1 ? 'n' : i % 10_000 === 2 ? 'r' : 'd'
    const key = messageKey(lane, ulid)
    pipeline.hset(key, {
      ...{ [FIELDS.state]: state, [FIELDS.attempt]: 'ABCDEF', [FIELDS.history]: 'c5|s2k|d1f4' },
      ...{ [FIELDS.to]: to, [FIELDS.type]: 'template', [FIELDS.class]: 't', [FIELDS.validUntil]: until },
      ...{ [FIELDS.text]: TEXT, [FIELDS.providerId]: `wamid.${String(markOf(ulid)).padStart(50, 'A')}` },
      ...(run && { [FIELDS.run]: run }),
      ...((state === 'f' || state === 'n') && { [FIELDS.problem]: '131026|The message cannot be delivered.' }),
    })
    pipeline.pexpire(key, RETENTION_MS)
    if (state === 'f' || state === 'n') pipeline.zadd(requeueableKey(lane), Date.now(), ulid)
  }
  for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error
}
