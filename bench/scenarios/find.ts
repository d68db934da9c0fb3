// How long a page of GET /messages takes over a million messages, by whatever filter, what the index of them takes, and how
// long it takes to erase a person from them.
// The store is written directly, as the steps would leave it: sending a million messages would take minutes.
import { Packr } from 'msgpackr'
import { createCredential } from '../../src/accounts/credentials.ts'
import { newUlid, personHash } from '../../src/kernel/message-id.ts'
import { type IndexedMessage, indexMessages } from '../../src/lanes/archive/message-index.ts'
import { FIELD } from '../../src/lanes/messages/record-format.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { campaignKey, messageIndexKey, messageKey, requeueableKey, rootKeys } from '../../src/redis/keys.ts'
import type { Bench } from '../bench.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { usedMemory } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'

const MESSAGES = 1_000_000
/** The share of them that is of one campaign, which is indexed by its places. */
const OF_CAMPAIGN = 0.2
const RECIPIENTS = 10_000
const AT_ONCE = 1_000
const SHOWN_EVERY = 100_000
const RETENTION_MS = 30 * 86_400_000
/** A lane of 10 messages a day: one segment holds a week of them. */
const FEW = 70
const PAGES = 200
const ERASED = 10
/** What the end of a key's life takes: its entry and its share of the table. */
const EXPIRY_BYTES = 40

const TEXT = 'Your parcel left our house today and will reach you on one of the next two working days. '
  .repeat(3)
  .slice(0, 200)

export async function find(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: 3, profile: bench.profile })
  const { client } = laneway.redis
  const [lane = 1, quiet = 2] = laneway.laneIds
  await laneway.hold()
  const figures = await fill(bench, client, lane, quiet)
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
  figures.push(await erasing(bench, laneway, lane))
  return figures
}

/** Erasing people, each of whom got a hundred of the messages, as the one who asks for it waits for it. */
async function erasing(bench: Bench, laneway: Laneway, lane: number): Promise<Figure> {
  const { client } = laneway.redis
  const account = Number(await client.hget(rootKeys.lanes, String(lane)))
  const { secret } = await createCredential(client, account, ['admin'], Date.now())
  let longest = 0
  for (let n = 0; n < ERASED; n += 1) {
    bench.progress(`erasing people, ${n}`)
    const from = performance.now()
    const answer = await fetch(`http://127.0.0.1:${laneway.port}/admin/people/${recipientOf(n * 43)}`, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${secret}` },
    })
    longest = Math.max(longest, (performance.now() - from) / 1_000)
    const text = await answer.text()
    if (answer.status !== 200) throw new Error(`erasing a person: ${answer.status} ${text}`)
  }
  const what = `erasing a person, longest of ${ERASED}`
  return withGoal({ scenario: 'find', what, value: longest, unit: 's' }, '< 5')
}

const recipientOf = (n: number): string => String(4_917_000_000_000 + (n % RECIPIENTS))

/** Fills lanes as the steps would have left them, and returns what the index of it takes. */
async function fill(bench: Bench, client: Redis, lane: number, quiet: number): Promise<Figure[]> {
  const unit = 'bytes a message'
  const figure = (what: string, value: number): Figure => ({ scenario: 'find', what: `index, ${what}`, value, unit })
  const messages = bench.people ?? MESSAGES
  const ofCampaigns = messages * OF_CAMPAIGN
  // Nothing here has to survive: with a sync per write it is the disk that takes most of the time.
  await client.config('SET', 'appendonly', 'no')
  for (let i = 0; i < FEW; i += 1) await indexMessages(client, quiet, [single(i)], RETENTION_MS)
  const open = await bytesOfIndex(client, quiet)
  await closeSegments(client, quiet)
  const closed = await bytesOfIndex(client, quiet)
  const before = await usedMemory(client)
  const startedAt = Date.now()
  await client.hset(campaignKey(lane, 1), { state: 'done', total: ofCampaigns })
  const batches: IndexedMessage[][] = []
  for (let i = 0; i < messages; i += AT_ONCE) {
    if (i % SHOWN_EVERY === 0) bench.progress(`indexing messages, ${i.toLocaleString('en')}`)
    const batch = Array.from({ length: Math.min(AT_ONCE, messages - i) }, (_, k) =>
      i + k < ofCampaigns ? ofCampaign(lane, startedAt, i + k) : single(i + k),
    )
    await indexMessages(client, lane, batch, RETENTION_MS)
    batches.push(batch)
  }
  const after = await usedMemory(client)
  for (const [n, batch] of batches.entries()) {
    const i = n * AT_ONCE
    if (i % SHOWN_EVERY === 0) bench.progress(`writing messages, ${i.toLocaleString('en')}`)
    await write(client, lane, batch, i)
  }
  await client.config('SET', 'appendonly', 'yes')
  await until('the file is written', 300_000, async () => {
    const info = await client.info('persistence')
    return !/aof_rewrite_(in_progress|scheduled):1/.test(info)
  })
  return [
    // A segment has room for as much again until the next one is begun, which every lane has once.
    figure(`${FEW} messages of this week`, open / FEW),
    withGoal(figure(`${FEW} messages of a week before`, closed / FEW), '< 41'),
    withGoal(
      figure(`${messages.toLocaleString('en')} messages, a fifth of a campaign`, (after - before) / messages),
      '< 41',
    ),
  ]
}

async function segmentKeys(client: Redis, lane: number): Promise<string[]> {
  const index = messageIndexKey(lane)
  return (await client.zrange(index, '0', '-1')).flatMap((name) => [`${index}:${name}`, `${index}:${name}:to`])
}

/** Leaves the segments as the step does that begins the next one. */
async function closeSegments(client: Redis, lane: number): Promise<void> {
  for (const key of await segmentKeys(client, lane)) {
    await client.set(key, (await client.getBuffer(key)) ?? '', 'KEEPTTL')
  }
}

/** What the keys of a lane's index take. By key: of so little, what else Redis gives back meanwhile is more. */
async function bytesOfIndex(client: Redis, lane: number): Promise<number> {
  const index = messageIndexKey(lane)
  const keys = [index, `${index}:open`, ...(await segmentKeys(client, lane))]
  const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key)))
  return sizes.reduce((sum: number, bytes) => sum + (bytes ?? 0) + EXPIRY_BYTES, 0)
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

/** Records in one script: a pipeline of as many commands is read piece by piece, which takes thrice as long. */
const WRITE = `
  for _, record in ipairs(cmsgpack.unpack(ARGV[1])) do
    redis.call('HSET', unpack(record))
    redis.call('PEXPIRE', record[1], ARGV[2])
  end`

const packr = new Packr({ useRecords: false })

async function write(client: Redis, lane: number, batch: readonly IndexedMessage[], from: number): Promise<void> {
  const listed: string[] = []
  const records = batch.map(({ ulid, to, until, run }, k) => {
    const i = from + k
    const state = i % 200 === 0 ? 'f' : i % 100_000 === 1 ? 'n' : i % 10_000 === 2 ? 'r' : 'd'
    const isListed = state === 'f' || state === 'n'
    if (isListed) listed.push(ulid)
    const fields = {
      ...{ [FIELD.state]: state, [FIELD.attempt]: 'ABCDEF', [FIELD.history]: 'c5|s2k|d1f4' },
      ...{ [FIELD.to]: to, [FIELD.type]: 'template', [FIELD.class]: 't', [FIELD.validUntil]: String(until) },
      ...{ [FIELD.text]: TEXT, [FIELD.providerId]: `wamid.${String(personHash(ulid)).padStart(50, 'A')}` },
      ...(run && { [FIELD.run]: String(run) }),
      ...(isListed && { [FIELD.problem]: '131026|The message cannot be delivered.' }),
    }
    return [messageKey(lane, ulid), ...Object.entries(fields).flat()]
  })
  await client.eval(WRITE, 0, packr.pack(records), String(RETENTION_MS))
  const nowMs = Date.now()
  if (listed.length > 0) await client.zadd(requeueableKey(lane), ...listed.flatMap((ulid) => [nowMs, ulid]))
}
