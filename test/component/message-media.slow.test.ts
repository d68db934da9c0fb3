// Pins: the file of a received message comes whole from WhatsApp or not at all, is never shown inline, and neither
// the sender's token nor a request goes where WhatsApp's answer could send it. Real: Redis, HTTP, producer. The
// simulator plays an honest WhatsApp, and the test itself one that lies.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { createMediaSource } from '../../src/providers/cloud-media.ts'
import type { Api } from '../support/api.ts'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { eventually, gate } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

type Behave = (response: ServerResponse, request: IncomingMessage) => void

let service: Service
let tenant: Tenant
let lane: number
/** Where the file is, and how it is handed over. */
let where: () => object
const tells: Behave = (response) => response.end(JSON.stringify({ url: `${liar.url}/file`, ...where() }))
let tell = tells
let hand: Behave
const asked: string[] = []
const elsewhere: string[] = []

async function listening(behave: Behave): Promise<{ url: string; close: () => void }> {
  const server = createServer((request, response) => behave(response, request))
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

let liar: Awaited<ReturnType<typeof listening>>
let bystander: Awaited<ReturnType<typeof listening>>
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  liar = await listening((response, request) => {
    asked.push(`${request.url} ${request.headers.authorization}`)
    if (request.url?.startsWith('/v')) tell(response, request)
    else hand(response, request)
  })
  bystander = await listening((response, request) => {
    elsewhere.push(String(request.headers.authorization))
    response.end('secret')
  })
  lane = await addLiar(tenant.account, '4917200099', '4711')
})
const addLiar = (account: number, number: string, phoneNumberId: string): Promise<number> =>
  addSender(service.redis, {
    ...{ account, number, name: 'liar', provider: 'cloud-api', baseUrl: liar.url },
    sealedToken: createSeal(secretKeysOf(service.config)).encrypt('tok'),
    ...{ phoneNumberId, rate: 1, honoursIdempotency: false, isDefault: false },
  })
afterAll(async () => {
  liar?.close()
  bystander?.close()
  await service?.close()
})

let count = 0
async function received(media?: object, of = lane, account = tenant.account): Promise<string> {
  count += 1
  const id = `wamid.media${count}`
  const parts = media === undefined ? {} : { media: { id: '77', ...media } }
  const message = { id, lane: of, from: '491700000001', type: 'image', text: '', parts, received_at: Date.now() }
  await storeInbound(service.redis, account, message, 3_600_000)
  return id
}
const get = (id: string, { api = tenant.api, ...init }: { api?: Api; signal?: AbortSignal } = {}) =>
  api.open(`/messages/${encodeURIComponent(id)}/media`, init)
const refusal = z.object({ error: z.object({ code: z.string() }) })
async function refused(id: string, api = tenant.api): Promise<[number, string]> {
  const answer = await get(id, { api })
  return [answer.status, refusal.parse(await answer.json()).error.code]
}

test('a file from a person is served with its type, to be saved under its name', async () => {
  const body = JSON.stringify({ sender: `${PHONE_NUMBER_ID}1`, from: '+491700000001', type: 'document', text: 'Bill' })
  const answer = await fetch(`${service.simulator.url}/_inbound`, { method: 'POST', body })
  const { id } = z.object({ id: z.string() }).parse(await answer.json())
  const file = await get(id)
  expect([file.status, await file.text()]).toEqual([200, 'A made-up document: Bill\n'])
  expect(Object.fromEntries(file.headers)).toMatchObject({
    'content-type': 'application/pdf',
    'content-length': '25',
    'content-disposition': 'attachment; filename=document.pdf',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; sandbox",
    'cache-control': 'private, no-store',
  })
})

test('an unknown message, one without a file, one of another account and a key that may not read are refused', async () => {
  const other = await service.addTenant()
  const [plain, withFile] = [await received(), await received({})]
  expect(await refused(plain)).toEqual([404, 'not_found'])
  expect(await refused('wamid.nobody')).toEqual([404, 'not_found'])
  expect(await refused(withFile, other.api)).toEqual([404, 'not_found'])
  expect(await refused(withFile, await tenant.apiWith('contacts:read'))).toEqual([403, 'forbidden'])
})

test('a web page declared as a picture is not served as a page, and a file name cannot break a header', async () => {
  where = () => ({ mime_type: 'text/html' })
  hand = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<script>alert(1)</script>')
  const answer = await get(await received({ mime_type: 'text/html', filename: 'a\r\nX: y\u202e.html' }))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('application/octet-stream')
  expect(answer.headers.get('content-disposition')).toBe('attachment; filename="aX: y.html"')
  expect(asked.slice(-2)).toEqual(['/v25.0/77?phone_number_id=4711 Bearer tok', '/file Bearer tok'])
})

test('a long name is cut before an emoji, not within it, and the file is served', async () => {
  where = () => ({ mime_type: 'text/html' })
  hand = (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('a')
  const filename = `${'a'.repeat(199)}\u{1F600}.html`
  const answer = await get(await received({ mime_type: 'text/html', filename }))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename=${'a'.repeat(199)}`)
})

test.each<[string, () => object, Behave]>([
  ['a private address by http', () => ({ url: `${bystander.url}/x` }), () => {}],
  ['a private address by https', () => ({ url: bystander.url.replace('http', 'https') }), () => {}],
  ['something that is no address', () => ({ url: 'file:///etc/passwd' }), () => {}],
  ['a redirect', () => ({}), (response) => response.writeHead(302, { location: bystander.url }).end()],
  ['an error', () => ({}), (response) => response.writeHead(500).end()],
  ['more than a file may have', () => ({}), (response) => response.writeHead(200, { 'content-length': 2 ** 30 }).end()],
  ['an announcement of more', () => ({ file_size: String(2 ** 30) }), () => {}],
  ['compressed bytes', () => ({}), (response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end('x')],
  ['a connection that is cut at once', () => ({}), (_response, { socket }) => socket.destroy()],
])('%s is answered with 502, and the token goes to nobody else', async (_what, at, behave) => {
  where = at
  hand = behave
  expect(await refused(await received({}))).toEqual([502, 'media_unavailable'])
  expect(elsewhere).toEqual([])
})

test('media that WhatsApp no longer keeps are gone, and so is what a removed sender received', async () => {
  where = () => ({})
  hand = (response) => response.writeHead(404).end()
  const id = await received({})
  expect(await refused(id)).toEqual([410, 'media_gone'])
  await senderRecord(service.redis, lane).change({ removed_at: Date.now() })
  hand = (response) => response.end('x')
  await eventually(async () => (await get(id)).status === 410, 'it is known')
  await senderRecord(service.redis, lane).drop('removed_at')
  await eventually(async () => (await get(id)).status === 200, 'it is back')
})

test('a file that ends too early does not look complete', async () => {
  where = () => ({})
  // Before that, it would be a file that never began.
  const begun = gate()
  hand = (response) => {
    response.writeHead(200, { 'content-length': 100_000 })
    response.write(Buffer.alloc(50_000))
    void begun.opened.then(() => response.socket?.destroy())
  }
  const answer = await get(await received({}))
  expect(answer.status).toBe(200)
  begun.open()
  await expect(answer.arrayBuffer()).rejects.toThrow()
})

test('when the client hangs up, nothing more is read from WhatsApp', async () => {
  where = () => ({})
  let closed = false
  hand = (response) => {
    response.on('close', () => {
      closed = true
    })
    response.writeHead(200)
    const more = async () => {
      while (!response.destroyed) {
        if (!response.write(Buffer.alloc(64_000))) await Promise.race([once(response, 'drain'), pause(50)])
      }
    }
    void more()
  }
  const stop = new AbortController()
  const id = await received({})
  const answer = await get(id, { signal: stop.signal })
  expect(answer.status).toBe(200)
  stop.abort()
  await eventually(async () => closed, 'the request to WhatsApp has ended', 10_000)
})

test('an account that slowly reads as many files as it may leaves room for those of others', async () => {
  where = () => ({})
  hand = (response) => void response.writeHead(200).write('half')
  const other = await service.addTenant()
  const theirs = await addLiar(other.account, '4917200098', '4712')
  const id = await received({})
  const stop = new AbortController()
  const slow = () => get(id, { signal: stop.signal })
  try {
    // Kept: one that nobody keeps is closed when it is collected.
    const answers: Response[] = []
    while (answers.at(-1)?.status !== 503) answers.push(await slow())
    expect(answers.slice(0, -1).map(({ status }) => status)).toEqual(Array(32).fill(200))
    hand = (response) => response.end('whole')
    const answer = await get(await received({}, theirs, other.account), other)
    expect([answer.status, await answer.text()]).toEqual([200, 'whole'])
  } finally {
    stop.abort()
  }
})

describe('a WhatsApp that hangs', () => {
  // What the producer fetches files with, under limits that a test can wait for; `unavailable` is the 502 of above. The others are
  // longer than the test takes, so that none ends what another one is to end.
  const hasty = createMediaSource('v25.0', { lookUp: 300, begin: 300, pause: 300_000, whole: 300_000 })
  const patient = createMediaSource('v25.0', { lookUp: 300_000, begin: 300_000, pause: 300, whole: 1_500 })
  afterEach(() => {
    tell = tells
  })
  afterAll(() => Promise.all([hasty.close(), patient.close()]))
  const SOON_MS = 300_000
  const open = (source: typeof hasty) => {
    where = () => ({})
    return source.open({ number: '4917200099', baseUrl: liar.url, token: 'tok', phoneNumberId: '4711' }, '77')
  }

  test('when it is asked where the file is, or before the file begins, is given up after a bounded time', async () => {
    const began = performance.now()
    tell = () => undefined
    expect(await open(hasty)).toMatchObject({ kind: 'unavailable' })
    tell = tells
    hand = () => undefined
    expect(await open(hasty)).toMatchObject({ kind: 'unavailable' })
    expect(performance.now() - began).toBeLessThan(SOON_MS)
  })

  test.each<[string, Behave]>([
    ['in the middle of the file', (response) => void response.write('half')],
    [
      'by sending a byte now and then',
      (response) => {
        const dripping = setInterval(() => response.write('x'), 50)
        response.on('close', () => clearInterval(dripping))
      },
    ],
  ])('%s is given up after a bounded time, and half a file does not look complete', async (_when, behave) => {
    hand = behave
    // The time for the whole file may be over before it begins where the machine stands still.
    const end = await eventually(async () => {
      const opened = await open(patient)
      return opened.kind === 'found' && opened
    }, 'it begins')
    const began = performance.now()
    await expect(buffer(end.stream)).rejects.toThrow()
    expect(performance.now() - began).toBeLessThan(SOON_MS)
  })
})
