// Pins: one upload for each content and number, whoever asks and however often; and what becomes of it when WhatsApp cuts it, the
// disk does not give the bytes, Redis is away, or a worker that stood still comes back. Real: Redis, the disk, HTTP. The provider is
// a server of the test, which counts.
import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { type FileStore, FilesAwayError } from '../../src/files/store.ts'
import { contentPath } from '../../src/gallery/content.ts'
import { addFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { removeFile } from '../../src/gallery/remove-files.ts'
import { findUpload, holdUpload, keepUpload, releaseUpload } from '../../src/gallery/uploads.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { createCloudUploads } from '../../src/providers/cloud-upload.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import type { DirectoryEntry } from '../../src/worker/sending/sender-directory.ts'
import { createUploads } from '../../src/worker/sending/uploads.ts'
import { keptLog, silentLog } from '../support/app.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { anySender } from '../support/sending.ts'
import { galleryOf } from '../support/state/accounts.ts'
import { uploadBackoffOf, uploadFailuresOf, uploadOf } from '../support/state/messages.ts'
import { pngWith } from '../support/uploads.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

const MB = 1024 * 1024
/** Ends what hangs; only the test of a WhatsApp that never answers waits for a limit. */
const LIMIT_MS = 600_000
let server: TestRedis
let redis: Redis
let account: number
let folder: number
let provider: { url: string; close: () => void }
/** Requests of the provider: which number, and the bytes of the file as it came. */
const uploads: { lane: number; sha256: string; type: string }[] = []
const uploadsOn = (lane: number) => uploads.filter((each) => each.lane === lane)
type Answer = (response: ServerResponse, request: IncomingMessage) => void
/** What the provider does with uploads for a lane, once it has read them; it takes those of any other. */
const answers = new Map<number, Answer>()
/** What it does instead of reading them into memory. */
const sinks = new Map<number, (request: IncomingMessage, response: ServerResponse) => void>()
const dataDir = mkdtempSync(join(tmpdir(), 'laneway-uploads-'))
const files = openFolder(dataDir)
let ids = 0
const takes = (response: ServerResponse) => void response.end(JSON.stringify({ id: String(++ids) }))
const refuses = (status: number, code: number) => (response: ServerResponse) =>
  void response
    .writeHead(status)
    .end(JSON.stringify({ error: { type: 'OAuthException', code, message: `(#${code}) no` } }))

beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
  redis.on('error', () => {})
  account = await createAccount(redis, 'Shop')
  folder = (await createFolder(redis, account, { name: 'Pictures' })).id
  const http = createServer((request, response) => {
    request.on('error', () => {})
    const lane = Number(/^\/v25\.0\/(\d+)\/media$/.exec(request.url ?? '')?.[1])
    const sink = sinks.get(lane)
    if (sink !== undefined) return sink(request, response)
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      uploads.push({ lane, ...fileIn(Buffer.concat(chunks)) })
      const answer = answers.get(lane) ?? takes
      answer(response, request)
    })
  })
  const port = await listen(http)
  provider = {
    url: `http://127.0.0.1:${port}`,
    close() {
      http.close()
      http.closeAllConnections()
    },
  }
})
afterAll(async () => {
  for (const close of closing) await close()
  provider?.close()
  redis?.disconnect()
  await server?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

function fileIn(form: Buffer): { sha256: string; type: string } {
  const head = form.indexOf('name="file"')
  const from = form.indexOf('\r\n\r\n', head) + 4
  const boundary = form.subarray(0, form.indexOf('\r\n'))
  const to = form.lastIndexOf(Buffer.concat([Buffer.from('\r\n'), boundary]))
  const type = /name="type"\r\n\r\n([^\r]+)/.exec(form.toString('latin1'))?.[1] ?? ''
  return { sha256: createHash('sha256').update(form.subarray(from, to)).digest('hex'), type }
}

const closing: (() => Promise<unknown>)[] = []

/** A worker's uploads, and senders as it sees them. */
function workerWith(
  store: FileStore = files,
  worker = `worker ${Math.random()}`,
  limits = { begin: LIMIT_MS, whole: LIMIT_MS },
  log = silentLog,
) {
  const cloud = createCloudUploads('v25.0', limits)
  const lanes = openLaneQueues(redis, 3_600_000)
  const all = createUploads({ redis, files: store, config: { publicUrl: undefined }, log, lanes, worker })
  closing.push(async () => {
    await all.stop(1_000)
    await cloud.close()
    await lanes.close()
  })
  const entryOf = (lane: number, of = account): DirectoryEntry => ({
    sender: { ...anySender(80), id: lane, account: of, provider: 'cloud-api' },
    provider: { send: async () => ({ kind: 'never_left', cause: 'test' }), upload: cloud.upload },
    providerSender: { number: '1', baseUrl: provider.url, token: 'token', phoneNumberId: String(lane) },
    repeat: { transactional: 'never', campaign: 'never' },
    ...{ stopsTransactional: false, bringsEvidence: true, rules: { lane } },
  })
  return { uploads: all, entryOf }
}

let made = 0
async function newFile(bytes = 0, of = { account, folder }): Promise<{ id: number; hash: string }> {
  async function* once() {
    yield pngWith(`uploads ${++made}`, bytes)
  }
  const file = await addFile(redis, files, of.account, of.folder, 'a.png', await receive(files, once()))
  return { id: file.id, hash: file.hash }
}
let lanes = 100
const newLane = () => ++lanes

/**
 * As if the content had failed many times: the next failure backs it off for minutes and not for a second, which is over before a
 * slow machine looks.
 */
const failedOften = (of: { lane: number; hash: string }) => uploadFailuresOf(redis, of).put(8, 3_600_000)

test('an upload is made once for each number, however many ask at once in two workers, and has the bytes unchanged', async () => {
  const [one, two] = [workerWith(files, 'one'), workerWith(files, 'two')]
  const file = await newFile(3_000_000)
  const [first, second] = [newLane(), newLane()]
  const asks = [one, two, one, two].flatMap(({ uploads: each, entryOf }) => [
    each.settled(entryOf(first), file.id, LIMIT_MS),
    each.settled(entryOf(second), file.id, LIMIT_MS),
  ])
  const found = await Promise.all(asks)
  expect(found.every(({ kind }) => kind === 'ready')).toBe(true)
  for (const lane of [first, second]) expect(uploadsOn(lane)).toEqual([{ lane, sha256: file.hash, type: 'image/png' }])
})

// These wait for times of the product, so they do it together.

test.concurrent('an upload of a file with an unreadable record waits until a person repairs it, and delays no other file', async () => {
  const [broken, fine, lane] = [await newFile(), await newFile(), newLane()]
  await galleryOf(redis, account).file(broken.id).drop('hash')
  const { uploads: all, entryOf } = workerWith()
  const unreadable = { kind: 'waits', problem: { code: 'file_unreadable' } }
  const [found] = await Promise.all([all.find(entryOf(lane), broken.id), all.settled(entryOf(lane), fine.id, LIMIT_MS)])
  expect(found).toMatchObject(unreadable)
  expect(await all.find(entryOf(lane), fine.id)).toMatchObject({ kind: 'ready' })

  await galleryOf(redis, account).file(broken.id).change({ hash: broken.hash })
  const ready = async () => (await all.find(entryOf(lane), broken.id)).kind === 'ready'
  await eventually(ready, 'it is read again', 60_000)
})

test.concurrent('an upload is aborted by a worker that stalled and lost its lease', async () => {
  let isHeld = false
  let isBrokenOff = false
  const cloud = workerWith(files, 'frozen')
  const [file, lane] = [await newFile(), newLane()]
  answers.set(lane, (response) => {
    isHeld = true
    // Never answered: only the lost lease ends it.
    response.once('close', () => {
      isBrokenOff = true
    })
  })
  const of = { lane, hash: file.hash }
  await cloud.uploads.find(cloud.entryOf(lane), file.id)
  await eventually(async () => isHeld, 'it is under way')
  // As after its lease has run out: another worker has uploaded it meanwhile.
  await releaseUpload(redis, of, 'frozen')
  expect(await holdUpload(redis, of, 'another', true)).toBe(true)
  await keepUpload(redis, of, 'theirs', Date.now())
  await eventually(async () => {
    // The other one renews its lease meanwhile, as long as this takes.
    await holdUpload(redis, of, 'another', false)
    return isBrokenOff
  }, 'it is broken off')
  expect(await findUpload(redis, of, Date.now())).toMatchObject({ kind: 'uploaded', id: 'theirs' })
  expect(await holdUpload(redis, of, 'another', false)).toBe(true)
})

test.concurrent('an upload waits longer after each failure in a row', async () => {
  const { log, lines } = keptLog()
  const { uploads: all, entryOf } = workerWith(files, undefined, undefined, log)
  const [file, lane] = [await newFile(), newLane()]
  const triedAt: number[] = []
  answers.set(lane, (response) => {
    triedAt.push(performance.now())
    refuses(500, 131000)(response)
  })
  // By what the worker says and by when it tries: a rest of a second may be over before a slow machine looks at it.
  const failed = z.object({ msg: z.literal('upload.failed'), wait_ms: z.number() })
  const rests = () => lines.flatMap((line) => failed.safeParse(JSON.parse(line)).data?.wait_ms ?? [])
  await eventually(async () => {
    await all.find(entryOf(lane), file.id)
    return rests().length >= 3
  }, 'three tries')
  const [first = 0, second = 0, third = 0] = rests()
  expect(second).toBeGreaterThan(1_000)
  expect(third).toBeGreaterThan(2_000)
  const [one = 0, two = 0, three = 0] = triedAt
  // Two clocks are compared, one of which counts whole milliseconds.
  expect(two - one).toBeGreaterThan(first - 10)
  expect(three - two).toBeGreaterThan(second - 10)
})

test.concurrent('an upload to a WhatsApp that never answers is given up after a bounded time', async () => {
  const { uploads: all, entryOf } = workerWith(files, undefined, { begin: 2_000, whole: 3_000 })
  const lane = newLane()
  answers.set(lane, () => undefined)
  const began = performance.now()
  expect(await all.settled(entryOf(lane), (await newFile()).id, 120_000)).toMatchObject({ kind: 'waits' })
  expect(performance.now() - began).toBeLessThan(100_000)
})

test.concurrent('an upload waits while the file store is away or full, and fails once the bytes are gone', async () => {
  const [file, lane] = [await newFile(), newLane()]
  let isAway = true
  const store: FileStore = {
    ...files,
    read: (...asked) => (isAway ? Promise.reject(new FilesAwayError('ENOSPC')) : files.read(...asked)),
  }
  const { uploads: all, entryOf } = workerWith(store)
  expect(await all.settled(entryOf(lane), file.id, LIMIT_MS)).toMatchObject({
    kind: 'waits',
    problem: { code: 'files_away' },
  })
  isAway = false
  const state = async () => (await all.find(entryOf(lane), file.id)).kind
  await eventually(async () => (await state()) === 'ready', 'the store is back')
  const lost = await newFile()
  rmSync(join(dataDir, contentPath(lost.hash)))
  expect(await all.settled(entryOf(newLane()), lost.id, LIMIT_MS)).toMatchObject({
    kind: 'refused',
    problem: { code: 'gallery_file_gone' },
  })
})

test.concurrent('an upload that WhatsApp cuts in the middle is made again, and nothing of it is kept', async () => {
  let cut = 0
  const { uploads: all, entryOf } = workerWith()
  const [file, lane] = [await newFile(4_000_000), newLane()]
  const of = { lane, hash: file.hash }
  await failedOften(of)
  sinks.set(lane, (request) => {
    request.once('data', () => {
      cut += 1
      request.socket.destroy()
    })
  })
  expect(await all.settled(entryOf(lane), file.id, LIMIT_MS)).toMatchObject({ kind: 'waits' })
  expect(cut).toBe(1)
  expect(await findUpload(redis, of, Date.now())).toMatchObject({ kind: 'backing_off' })
  sinks.delete(lane)
  await uploadBackoffOf(redis, of).remove()
  const ready = async () => (await all.find(entryOf(lane), file.id)).kind === 'ready'
  await eventually(ready, 'it is uploaded')
  expect(uploadsOn(lane)).toHaveLength(1)
})

/** Of a file that is streamed, this process holds less at a time, although both ends are in it. */
const MOST_HELD = 50 * MB
/** Frees what nobody holds any more; twice, because the memory of buffers is given back by the collection after it. */
function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect: unknown = runInNewContext('gc')
  setFlagsFromString('--no-expose-gc')
  if (typeof collect !== 'function') throw new Error('no garbage can be collected')
  for (let n = 0; n < 2; n += 1) collect()
}

/** Files above 5 MB, of the sizes that WhatsApp takes. */
const LARGE: [what: string, bytes: number, head: Buffer, name: string, type: string][] = [
  [
    'a video of 16 MB',
    16 * MB,
    Buffer.from('00000018667479706d703432000000006d70343269736f6d', 'hex'),
    'a.mp4',
    'video/mp4',
  ],
  ['a document of 100 MB', 100 * MB, Buffer.from('%PDF-1.4\n'), 'a.pdf', 'application/pdf'],
]

test.each(LARGE)('an upload of %s is streamed, repeated whole if it breaks off, and counts once', async (...given) => {
  const [, bytes, head, name, type] = given
  async function* content() {
    yield Buffer.concat([head, Buffer.from(`${++made}`)])
    let left = bytes - head.length - String(made).length
    for (const piece = Buffer.alloc(MB); left > 0; left -= piece.length) yield piece.subarray(0, Math.min(left, MB))
  }
  const file = await addFile(redis, files, account, folder, name, await receive(files, content()))
  expect([file.mime_type, file.size]).toEqual([type, bytes])
  // The first request breaks off in the middle of the file.
  let requests = 0
  let most = 0
  const taken: number[] = []
  const lane = newLane()
  const of = { lane, hash: file.hash }
  await failedOften(of)
  const before = process.memoryUsage().arrayBuffers
  sinks.set(lane, (request, response) => {
    requests += 1
    const isCut = requests === 1
    let read = 0
    request.on('data', (piece: Buffer) => {
      read += piece.length
      // What was read is not collected at once, on a busy machine late.
      if (process.memoryUsage().arrayBuffers - before >= MOST_HELD) collectGarbage()
      most = Math.max(most, process.memoryUsage().arrayBuffers)
      if (isCut && read > bytes / 2) request.socket.destroy()
    })
    request.on('end', () => {
      taken.push(read)
      takes(response)
    })
  })
  const { uploads: all, entryOf } = workerWith()
  expect(await all.settled(entryOf(lane), file.id, LIMIT_MS)).toMatchObject({ kind: 'waits' })
  expect(await findUpload(redis, of, Date.now())).toMatchObject({ kind: 'backing_off' })
  await uploadBackoffOf(redis, of).remove()
  const ready = async () => (await all.find(entryOf(lane), file.id)).kind === 'ready'
  await eventually(ready, 'it is uploaded', LIMIT_MS)
  expect(requests).toBe(2)
  // The form has some hundred bytes besides.
  expect(taken.map((read) => read > bytes && read < bytes + 1_000)).toEqual([true])
  expect(most - before).toBeLessThan(MOST_HELD)
})

test.each<[string, number, number, 'waits' | 'refused']>([
  ['throttles', 429, 130429, 'waits'],
  ['has a fault of its own', 500, 131000, 'waits'],
  ['is overloaded', 503, 2, 'waits'],
  ['does not take the file', 400, 100, 'refused'],
])('when WhatsApp %s (%s %s) the outcome of an upload is: %s', async (_what, status, code, kind) => {
  const { uploads: all, entryOf } = workerWith()
  const [file, lane] = [await newFile(), newLane()]
  const entry = entryOf(lane)
  await failedOften({ lane, hash: file.hash })
  answers.set(lane, refuses(status, code))
  expect(await all.settled(entry, file.id, LIMIT_MS)).toMatchObject({ kind, problem: { code: String(code) } })
  // Each message that asks meanwhile gets the same without asking WhatsApp.
  const meanwhile = await Promise.all(Array.from({ length: 20 }, () => all.find(entry, file.id)))
  expect(meanwhile.map((each) => each.kind)).toEqual(Array(20).fill(kind))
  expect(uploadsOn(lane)).toHaveLength(1)
})

test('uploads to a WhatsApp that does not answer leave room for those of other accounts', async () => {
  // They hang for longer than the other one is waited for.
  const { uploads: all, entryOf } = workerWith()
  const others = await createAccount(redis, 'Other shop')
  const file = await newFile(0, { account: others, folder: (await createFolder(redis, others, { name: 'Own' })).id })
  const [hanging, fine] = [newLane(), newLane()]
  answers.set(hanging, () => undefined)
  for (let i = 0; i < 20; i += 1) await all.find(entryOf(hanging), (await newFile()).id)
  expect(await all.settled(entryOf(fine, others), file.id, 300_000)).toMatchObject({ kind: 'ready' })
})

test('an upload of fewer bytes than the record states is never made in part', async () => {
  const [file, lane] = [await newFile(1_000), newLane()]
  writeFileSync(join(dataDir, contentPath(file.hash)), 'half')
  const { uploads: all, entryOf } = workerWith()
  expect(await all.settled(entryOf(lane), file.id, LIMIT_MS)).toMatchObject({
    kind: 'waits',
    problem: { code: 'file_unreadable' },
  })
  expect(uploadsOn(lane)).toEqual([])
})

test('an id in its last day is still used while the file is uploaded again', async () => {
  const { uploads: all, entryOf } = workerWith()
  const [file, lane] = [await newFile(), newLane()]
  const of = { lane, hash: file.hash }
  await keepUpload(redis, of, 'old', Date.now() - 28.5 * 86_400_000)
  expect(await all.find(entryOf(lane), file.id)).toMatchObject({ kind: 'ready', source: { id: 'old' } })
  const renewed = async () => {
    const found = await findUpload(redis, of, Date.now())
    return found.kind === 'uploaded' && found.id !== 'old' && !found.isOld
  }
  await eventually(renewed, 'it is renewed')
  expect(uploadsOn(lane)).toHaveLength(1)
})

test('an id is used for 29 days at most: WhatsApp keeps it for 30', async () => {
  const of = { lane: newLane(), hash: (await newFile()).hash }
  await keepUpload(redis, of, 'new', Date.now())
  const days = ((await uploadOf(redis, of).livesMs()) ?? 0) / 86_400_000
  expect(days).toBeGreaterThan(28.9)
  expect(days).toBeLessThanOrEqual(29)
})

test('a file that was removed for good after a message was accepted, or that belongs to another account, is never uploaded', async () => {
  const { uploads: all, entryOf } = workerWith()
  const [removed, theirs] = [await newFile(), await newFile()]
  await removeFile(redis, account, removed.id)
  const lane = newLane()
  const entry = entryOf(lane)
  const other = { ...entry, sender: { ...entry.sender, account: account + 1 } }
  for (const [of, { id }] of [
    [entry, removed],
    [other, theirs],
  ] as const)
    expect(await all.settled(of, id, LIMIT_MS)).toMatchObject({
      kind: 'refused',
      problem: { code: 'gallery_file_gone' },
    })
  expect(uploadsOn(lane)).toEqual([])
})

test('a lost id is forgotten once, and a newer one of another worker is kept', async () => {
  const { uploads: all, entryOf } = workerWith()
  const [file, lane] = [await newFile(), newLane()]
  const of = { lane, hash: file.hash }
  await keepUpload(redis, of, 'first', Date.now())
  await all.gone(lane, file.hash, 'first')
  expect(await findUpload(redis, of, Date.now())).toEqual({ kind: 'unknown' })
  await keepUpload(redis, of, 'second', Date.now())
  await all.gone(lane, file.hash, 'first')
  expect(await findUpload(redis, of, Date.now())).toMatchObject({ id: 'second' })
  // A WhatsApp that forgets again and again is left alone for a while.
  await failedOften(of)
  await all.gone(lane, file.hash, 'second')
  expect(await findUpload(redis, of, Date.now())).toMatchObject({
    kind: 'backing_off',
    backoff: { code: 'media_gone' },
  })
  expect((await all.find(entryOf(lane), file.id)).kind).toBe('waits')
})

test('while Redis is full a file is uploaded once, and a failed upload still waits before the next try', async () => {
  const { uploads: all, entryOf } = workerWith()
  const [file, other, lane] = [await newFile(), await newFile(), newLane()]
  await failedOften({ lane, hash: other.hash })
  await redis.config('SET', 'maxmemory', '1')
  try {
    const found = await all.settled(entryOf(lane), file.id, LIMIT_MS)
    expect([found.kind, uploadsOn(lane).length]).toEqual(['ready', 1])
    answers.set(lane, refuses(500, 2))
    for (let tries = 0; tries < 3; tries += 1) await all.settled(entryOf(lane), other.id, LIMIT_MS)
    expect(uploadsOn(lane)).toHaveLength(2)
  } finally {
    await redis.config('SET', 'maxmemory', '0')
  }
})

test('while Redis is away nothing is uploaded, and everything continues afterwards', async () => {
  const { uploads: all, entryOf } = workerWith()
  const [file, lane] = [await newFile(), newLane()]
  server.freeze()
  const asked = all.find(entryOf(lane), file.id)
  await new Promise((resolve) => setTimeout(resolve, 300))
  expect(uploadsOn(lane)).toEqual([])
  server.wake()
  await asked
  await eventually(async () => (await all.find(entryOf(lane), file.id)).kind === 'ready', 'it is uploaded')
  expect(uploadsOn(lane)).toHaveLength(1)
})
