// Pins: files of received messages come into the gallery of an account that keeps them, once each, within its quota, whoever dies over
// it, and go with the person who sent them. Real: Redis, the disk, HTTP, producer, worker, simulator. Stood in for in most tests:
// what WhatsApp answers when it is asked for a file.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { cachedAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { erasePerson } from '../../src/erase/erase.ts'
import { newErasureId } from '../../src/erase/erasures.ts'
import { openFolder } from '../../src/files/folder.ts'
import { findFile, keptBytes, listFiles } from '../../src/gallery/files.ts'
import {
  addReceivedMedium,
  countWaitingMedia,
  endReceivedMedium,
  receivedFolder,
  retryReceivedMedium,
  type TakenMedium,
  takeReceivedMedium,
} from '../../src/gallery/received-media.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { findInbound, storeInbound } from '../../src/lanes/messages/inbound.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { type FetchDeps, fetchMedium } from '../../src/messages/received/fetch-medium.ts'
import { isWhatsApps, type MediaEnd } from '../../src/providers/cloud-media.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { silentLog } from '../support/app.ts'
import { dyingAfter } from '../support/redis.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { contentWithoutFile } from '../support/state/accounts.ts'
import { receivedName } from '../support/state/messages.ts'
import { addToGallery, pngWith } from '../support/uploads.ts'
import { eventually } from '../support/wait.ts'

const DAY_MS = 86_400_000
let service: Service
let tenant: Tenant
/** How WhatsApp answers, and how often it was asked. */
let answer: () => MediaEnd
let asked = 0
let made = 0
const found = (bytes: Buffer, length: number | undefined = bytes.length): MediaEnd => ({
  ...{ kind: 'found', mimeType: 'image/png', bytes: length, stream: Readable.from([bytes]) },
})

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service?.close())
beforeEach(async () => {
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  await setAccountSettings(service.redis, tenant.account, { keep_received_media: 'on' })
  asked = 0
  answer = () => found(pngWith(`received ${++made}`))
})

/** Returns once a worker knows them, too. */
async function changeSettings(settings: Parameters<typeof setAccountSettings>[2]): Promise<void> {
  await setAccountSettings(service.redis, tenant.account, settings)
  const isKnown = async () => {
    const known: object = (await cachedAccount(service.redis, tenant.account)) ?? {}
    return Object.entries(settings).every(([name, value]) => Reflect.get(known, name) === value) || undefined
  }
  await eventually(isKnown, 'the settings are known')
}

function depsOn(redis: Redis = service.redis): FetchDeps {
  const open = async (): Promise<MediaEnd> => {
    asked += 1
    return answer()
  }
  const { config } = service
  const files = openFolder(config.dataDir)
  return { redis, files, config, log: silentLog, seal: createSeal(secretKeysOf(config)), media: { open } }
}
const goesOn = new AbortController().signal

let people = 0
const newPerson = () => `4917000001${String(10 + ++people)}`
/** A message with a file, as its webhook leaves it, taken by a worker. */
async function received({ from = newPerson(), agoMs = 0 } = {}): Promise<{ id: string; taken: TakenMedium }> {
  const id = `wamid.received${++made}`
  const [account, lane, message] = [tenant.account, tenant.cloudLane, receivedName(id)]
  const parts = { media: { id: '77', mime_type: 'image/png', filename: 'Passport of Ada.png' } }
  const stored = { id, lane, from, type: 'image', text: '', parts, received_at: Date.now() - agoMs }
  await storeInbound(service.redis, account, stored, DAY_MS)
  await addReceivedMedium(service.redis, { account, lane, message })
  return { id, taken: await take() }
}
async function take(): Promise<TakenMedium> {
  const taken = await takeReceivedMedium(service.redis, [])
  if (taken === undefined) throw new Error('nothing is due')
  return taken
}
const galleryFileOf = async (id: string) => (await findInbound(service.redis, tenant.account, id))?.parts.media?.gallery
async function filesOf(account = tenant.account) {
  return listFiles(service.redis, account, await receivedFolder(service.redis, account), 0, 1_000)
}
const json = async (path: string, key = tenant.apiKey) => (await service.api.as(key).get(path)).json

describe('a picture that a person sends', () => {
  const shown = z.object({ data: z.looseObject({ media: z.looseObject({ gallery: z.string().optional() }) }) })
  const events = z.object({ data: z.array(z.object({ type: z.string(), data: z.looseObject({}) })) })
  const send = async (): Promise<string> => {
    // As `addTenant` numbers them.
    const sender = `${PHONE_NUMBER_ID}${Number(tenant.cloudNumber.slice(-4)) - 1_000}`
    const body = { sender, from: '+491700000001', type: 'document', text: 'Bill', times: 3 }
    const sent = await fetch(`${service.simulator.url}/_inbound`, { method: 'POST', body: JSON.stringify(body) })
    expect(sent.status).toBe(200)
    return z.object({ id: z.string() }).parse(await sent.json()).id
  }

  test('is soon in the system folder of the gallery, and is named in lookups and events', async () => {
    const eventsKey = await tenant.key('events')
    await json('/events', eventsKey)
    const id = await send()
    expect(await countWaitingMedia(service.redis)).toBe(1)
    await service.startWorker()
    try {
      const file = await eventually(() => galleryFileOf(id), 'it is in the gallery', 10_000)
      expect(shown.parse(await json(`/messages/${encodeURIComponent(id)}`)).data.media.gallery).toBe(file)
      await eventually(async () => (await countWaitingMedia(service.redis)) === 0, 'nothing waits')
      const told = events.parse(await json('/events?types=message.media_kept&include_content=true', eventsKey)).data
      expect(told).toHaveLength(1)
      expect(told[0]?.data).toMatchObject({ id, seq: 2, media: { gallery: file } })
      const gallery = await tenant.key('gallery')
      const base = '/partners/wp-gallery/manage'
      expect(await json(`${base}/folders`, gallery)).toMatchObject({
        data: [{ name: 'Received', is_system: true, file_count: 1 }],
      })
      const folder = await receivedFolder(service.redis, tenant.account)
      // What it is is told by its bytes, and its name says nothing of the person, only the day of the message.
      const { received_at: receivedAt = 0 } = (await findInbound(service.redis, tenant.account, id)) ?? {}
      expect(await json(`${base}/files?folder_id=${folder}`, gallery)).toMatchObject({
        data: [
          {
            id: Number(file),
            name: `${new Date(receivedAt).toISOString().slice(0, 10)} document.txt`,
            mime_type: 'text/plain',
          },
        ],
      })
      // It is answered from there, and WhatsApp is not asked again.
      const bytes = await tenant.api.get(`/messages/${encodeURIComponent(id)}/media`)
      expect(bytes.text).toBe('A made-up document: Bill\n')
      expect(bytes.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    } finally {
      await service.stopWorker()
    }
  })

  test('stays at WhatsApp unless the account keeps received media', async () => {
    await changeSettings({ keep_received_media: 'off' })
    await send()
    expect(await countWaitingMedia(service.redis)).toBe(0)
  })
})

test('whatever command the worker dies after, there is one file in the end, counted once', async () => {
  let hasEnded = false
  for (let commands = 0; !hasEnded && commands < 100; commands += 1) {
    const bytes = pngWith(`dies after ${commands}`)
    answer = () => found(bytes)
    const before = await keptBytes(service.redis, tenant.account)
    const { id, taken } = await received()
    const dying = await dyingAfter(service.server.url, commands)
    hasEnded = await fetchMedium(depsOn(dying), taken, goesOn).then(
      ({ kind }) => kind === 'kept',
      () => false,
    )
    dying.disconnect()
    // As after its lease.
    await retryReceivedMedium(service.redis, taken, { againMs: 0, backoffMs: 0 })
    const end = await fetchMedium(depsOn(), await take(), goesOn)
    expect(end.kind, `after ${commands} commands`).toBe('kept')
    await endReceivedMedium(service.redis, taken)
    const files = await filesOf()
    expect(files, `after ${commands} commands`).toHaveLength(commands + 1)
    expect(await galleryFileOf(id)).toBe(String(files.at(-1)?.id))
    expect(await keptBytes(service.redis, tenant.account)).toBe(before + bytes.length)
  }
  expect(hasEnded).toBe(true)
  expect(await countWaitingMedia(service.redis)).toBe(0)
  expect(readdirSync(join(service.config.dataDir, 'incoming'))).toEqual([])
})

test('two workers with one file, as after one stalled, make one file of it', async () => {
  const { id, taken } = await received()
  const bytes = pngWith('for two workers')
  answer = () => found(bytes)
  const ends = await Promise.all([1, 2, 3].map(() => fetchMedium(depsOn(), taken, goesOn)))
  expect(ends.map(({ kind }) => kind)).toEqual(['kept', 'kept', 'kept'])
  const files = await filesOf()
  expect(files.map((file) => String(file.id))).toEqual([await galleryFileOf(id)])
  expect(await keptBytes(service.redis, tenant.account)).toBe(bytes.length)
  await endReceivedMedium(service.redis, taken)
})

describe('a gallery without room', () => {
  test.each([
    ['says its length', true],
    ['does not say its length', false],
  ])('takes no file that %s, keeps the account’s own, logs it once, and takes it once it fits', async (_what, says) => {
    const own = await addToGallery(service, tenant.account, pngWith('own', 5_000))
    await changeSettings({ 'limit.gallery_bytes': 6_000 })
    const told = async () =>
      z
        .object({ data: z.array(z.looseObject({ data: z.looseObject({ limit: z.number() }) })) })
        .parse(await json('/events?types=gallery.full', key)).data
    const key = await tenant.key('events')
    await told()
    const bytes = pngWith('too much', 2_000)
    answer = () => found(bytes, says ? bytes.length : undefined)
    const { id, taken } = await received()
    for (let times = 0; times < 3; times += 1) {
      expect(await fetchMedium(depsOn(), taken, goesOn)).toMatchObject({ kind: 'again', why: 'gallery_full' })
    }
    expect((await told()).map(({ data }) => data.limit)).toEqual([6_000])
    expect(await findFile(service.redis, tenant.account, own.id)).toMatchObject({ deleted_at: null })
    expect(await filesOf()).toEqual([])
    await changeSettings({ 'limit.gallery_bytes': 10_000 })
    expect((await fetchMedium(depsOn(), taken, goesOn)).kind).toBe('kept')
    expect(await galleryFileOf(id)).toBeDefined()
    await endReceivedMedium(service.redis, taken)
  })

  test('requests nothing from WhatsApp while not a byte fits', async () => {
    await addToGallery(service, tenant.account, pngWith('own', 5_000))
    await changeSettings({ 'limit.gallery_bytes': 5_000 })
    const { taken } = await received()
    const end = await fetchMedium(depsOn(), taken, goesOn)
    expect(end).toMatchObject({ kind: 'again', backoffMs: 60_000 })
    expect(asked).toBe(0)
    await endReceivedMedium(service.redis, taken)
  })

  test('requests nothing from WhatsApp while Redis is full', async () => {
    const { taken } = await received()
    await service.redis.config('SET', 'maxmemory', '1')
    try {
      await expect(fetchMedium(depsOn(), taken, goesOn)).rejects.toThrow(/OOM/)
    } finally {
      await service.redis.config('SET', 'maxmemory', '0')
    }
    expect(asked).toBe(0)
    await endReceivedMedium(service.redis, taken)
  })
})

describe('a file', () => {
  test.each<[string, MediaEnd, object]>([
    ['that WhatsApp has removed is given up', { kind: 'gone' }, { kind: 'over', why: 'gone' }],
    ['that is too large is given up', { kind: 'too_large' }, { kind: 'over', why: 'too_large' }],
    [
      'that WhatsApp hands to nobody now is tried again',
      { kind: 'unavailable', cause: 'http_500' },
      { kind: 'again', why: 'http_500' },
    ],
    [
      'of a WhatsApp that throttles waits with all of its account',
      { kind: 'unavailable', cause: 'http_429' },
      { kind: 'again', backoffMs: 60_000 },
    ],
  ])('%s', async (_what, end, expected) => {
    answer = () => end
    const { taken } = await received()
    expect(await fetchMedium(depsOn(), taken, goesOn)).toMatchObject(expected)
    expect(await filesOf()).toEqual([])
    await endReceivedMedium(service.redis, taken)
  })

  test('that breaks off in the middle leaves nothing, and is fetched again', async () => {
    answer = () => ({
      ...{ kind: 'found', mimeType: 'image/png', bytes: 1_000 },
      stream: Readable.from(
        (async function* half() {
          yield Buffer.alloc(500)
          throw new Error('cut')
        })(),
      ),
    })
    const { taken } = await received()
    expect(await fetchMedium(depsOn(), taken, goesOn)).toMatchObject({ kind: 'again', why: 'broken_off' })
    expect(await filesOf()).toEqual([])
    expect(readdirSync(join(service.config.dataDir, 'incoming'))).toEqual([])
    await endReceivedMedium(service.redis, taken)
  })

  test('is given up once WhatsApp no longer has it, but only after one request', async () => {
    answer = () => ({ kind: 'unavailable', cause: 'http_500' })
    const { taken } = await received({ agoMs: 7 * DAY_MS + 1_000 })
    expect(await fetchMedium(depsOn(), taken, goesOn)).toMatchObject({ kind: 'again' })
    expect(await fetchMedium(depsOn(), { ...taken, tries: 1 }, goesOn)).toEqual({ kind: 'over', why: 'out_of_time' })
    await endReceivedMedium(service.redis, taken)
    const { taken: younger } = await received({ agoMs: 7 * DAY_MS - 60_000 })
    expect(await fetchMedium(depsOn(), { ...younger, tries: 200 }, goesOn)).toMatchObject({ kind: 'again' })
    await endReceivedMedium(service.redis, younger)
  })

  test('that waits longer after each try is retried when due and not earlier, and a busy account delays no other', async () => {
    const other = tenant
    const { taken } = await received()
    const putBackMs = await redisNowMs(service.redis)
    await retryReceivedMedium(service.redis, taken, { againMs: 1_000, backoffMs: 0 })
    const again = await eventually(() => takeReceivedMedium(service.redis, []), 'it is due again')
    // By the clock of Redis, so that a look that comes late finds nothing too early.
    expect((await redisNowMs(service.redis)) - putBackMs).toBeGreaterThanOrEqual(1_000)
    expect(again).toEqual({ ...taken, tries: 1 })
    tenant = await service.addTenant()
    const { taken: theirs } = await received()
    await retryReceivedMedium(service.redis, taken, { againMs: 0, backoffMs: 0 })
    await retryReceivedMedium(service.redis, theirs, { againMs: 0, backoffMs: 0 })
    expect((await takeReceivedMedium(service.redis, [other.account]))?.account).toBe(tenant.account)
    expect(await takeReceivedMedium(service.redis, [other.account, tenant.account])).toBeUndefined()
    for (const each of [taken, theirs]) await endReceivedMedium(service.redis, each)
    expect(await countWaitingMedia(service.redis)).toBe(0)
  })
})

describe('a person who is erased', () => {
  const erase = async (person: string): Promise<void> => {
    const queues = openLaneQueues(service.redis)
    const config = { retentionMs: DAY_MS, validityMs: { campaign: DAY_MS } }
    const files = openFolder(service.config.dataDir)
    const of = { id: newErasureId(Date.now()), account: tenant.account, person, nowMs: Date.now() }
    await erasePerson({ redis: service.redis, queues, files, config, log: silentLog }, of)
    await queues.close()
  }

  test('loses the files that they sent and nobody else’s, and can be shown them before', async () => {
    const [person, bystander] = [newPerson(), newPerson()]
    for (const from of [person, person, bystander]) {
      const { taken } = await received({ from })
      expect((await fetchMedium(depsOn(), taken, goesOn)).kind).toBe('kept')
      await endReceivedMedium(service.redis, taken)
    }
    const [first, second, third] = await filesOf()
    const kept = z.object({ data: z.object({ files: z.array(z.looseObject({ id: z.string() })) }) })
    const shown = kept.parse(await json(`/admin/people/${person}`, await tenant.key('admin'))).data.files
    expect(shown.map(({ id }) => id)).toEqual([String(first?.id), String(second?.id)])
    await erase(person)
    expect(await filesOf()).toEqual([third])
    expect(await keptBytes(service.redis, tenant.account)).toBe(third?.size)
    const without = await contentWithoutFile(service.redis).all()
    expect(without).toEqual(expect.arrayContaining([first?.hash, second?.hash]))
    expect(without).not.toContain(third?.hash)
  })

  test.each(['while a file of theirs is fetched', 'before a worker goes on after another has died'])(
    'leaves no files behind %s',
    async (when) => {
      const person = newPerson()
      const { taken } = await received({ from: person })
      const bytes = pngWith(when)
      const erasing = async function* () {
        yield bytes
        await erase(person)
      }
      answer = () => ({ kind: 'found', mimeType: 'image/png', bytes: bytes.length, stream: Readable.from(erasing()) })
      if (when.startsWith('while')) {
        expect(await fetchMedium(depsOn(), taken, goesOn)).toEqual({ kind: 'over', why: 'message_gone' })
      } else {
        answer = () => found(bytes)
        // Dies once the file is recorded and before the message names it.
        for (let commands = 5; (await filesOf()).length === 0; commands += 1) {
          const dying = await dyingAfter(service.server.url, commands)
          await fetchMedium(depsOn(dying), taken, goesOn).catch(() => {})
          dying.disconnect()
        }
        await erase(person)
        await retryReceivedMedium(service.redis, taken, { againMs: 0, backoffMs: 0 })
        expect(await fetchMedium(depsOn(), await take(), goesOn)).toEqual({ kind: 'over', why: 'message_gone' })
      }
      await endReceivedMedium(service.redis, taken)
      expect(await filesOf()).toEqual([])
      expect(await keptBytes(service.redis, tenant.account)).toBe(0)
    },
  )
})

test('the token of a sender is sent only to hosts of WhatsApp', () => {
  const isTheirs = (url: string) => isWhatsApps(new URL(url))
  expect(isTheirs('https://lookaside.fbsbx.com/whatsapp_business/attachments/?mid=1')).toBe(true)
  expect(isTheirs('https://graph.facebook.com/v25.0/1')).toBe(true)
  for (const url of [
    'http://lookaside.fbsbx.com/x',
    'https://lookaside.fbsbx.com.evil.example/x',
    'https://evilfbsbx.com/x',
    'https://fbsbx.com@evil.example/x',
    'https://cdn.example/x',
  ]) {
    expect(isTheirs(url), url).toBe(false)
  }
})
