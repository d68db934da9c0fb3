// Requests that are made to hurt: each took the process down, blocked it, or filled its memory once, or is a close
// relative of one that did.
import { createHmac } from 'node:crypto'
import type { RawRequest } from './raw-client.ts'

export interface Hostile extends RawRequest {
  name: string
  /** Whether it is accepted, and only its size is what hurts. */
  isGood?: true
}

export interface Victim {
  /** A key with messages:send and messages:read. */
  apiKey: string
  /** One that nobody was given, with a checksum that is right: it is looked for in Redis. */
  inventedKey: string
  appSecret: string
  /** A file of some MB that anybody may fetch. */
  mediaPath: string
}

const MB = 1024 * 1024
const KB256 = 256 * 1024

export function hostileRequests({ apiKey, inventedKey, appSecret, mediaPath }: Victim): Hostile[] {
  const empties = ofLength(4 * MB, '{"messages":[', '{},', '{}]}')
  const keyed = (key: string, member: string) => Buffer.from(`{"api_key":"${key}",${member}}`)
  const junk = (count: number) => `"x":[${'{},'.repeat(count - 1)}{}]`
  const names = Array.from({ length: 4_400 }, (_, n) => `{"name${n}":${n}}`).join(',')
  const items = Array.from({ length: 39_000 }, (_, n) => `{"n${n}":[{},${n}]}`).join(',')
  const statuses = Buffer.from(
    `{"entry":[{"changes":[{"field":"messages","value":{"statuses":[${'{},'.repeat(190_000)}{}]}}]}]}`,
  )
  const signature = `x-hub-signature-256: sha256=${createHmac('sha256', appSecret).update(statuses).digest('hex')}`
  const noSignature = `x-hub-signature-256: sha256=${'0'.repeat(64)}`
  const INFO = '/chatappbusiness/fetchmessageinfo'
  const message = JSON.stringify({
    ...{ to: '+447700900123', recipient_type: 'individual', messaging_product: 'chatapp', type: 'image' },
    image: { link: 'https://shop.example/spring.png', caption: 'x'.repeat(900) },
  })
  const full = Buffer.from(`{"messages":[${Array.from({ length: 1_000 }, () => message).join(',')}]}`)
  const flood = Array.from({ length: 2_000 }, () => 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n').join('')
  const form = Buffer.from(`--b\r\ncontent-disposition: form-data; name="file"; filename="x"\r\n\r\n${'x'.repeat(MB)}`)

  return [
    post('4 MB of {}, an invented key', '/messages/batch', empties, 'together', bearer(inventedKey)),
    post('4 MB of {}, a good key', '/messages/batch', empties, 'together', bearer(apiKey)),
    post('256 KB of {}, an invented key in it', INFO, keyed(inventedKey, junk(80_000)), 'together'),
    post('as many {} as may be, an invented key in it', INFO, keyed(inventedKey, junk(9_000)), 'together'),
    post('4,400 names, a good key in it', INFO, keyed(apiKey, `"x":[${names}]`), 'together'),
    post('256 KB of one text, an invented key', INFO, keyed(inventedKey, `"x":"${'y'.repeat(250_000)}"`), 'together'),
    post(
      '200,000 values, a good key',
      '/messages/batch',
      Buffer.from(`{"messages":[{"x":[${items}]}]}`),
      'together',
      bearer(apiKey),
    ),
    { ...post('1,000 good messages', '/messages/batch', full, 'together', bearer(apiKey)), isGood: true },
    post('256 KB of [', INFO, Buffer.alloc(KB256, '['), 'whole'),
    post('a signed webhook of 190,000 {}', '/webhooks/cloud-api', statuses, 'together', signature),
    post('a forged webhook of 4 MB', '/webhooks/cloud-api', Buffer.alloc(4 * MB, 'x'), 'together', noSignature),
    post('half of a forged webhook of 4 MB', '/webhooks/cloud-api', Buffer.alloc(4 * MB, 'x'), 'half', noSignature),
    post('half of 256 KB', INFO, Buffer.alloc(KB256, ' '), 'half'),
    post('half of a form without a key', '/partners/wp-gallery/manage/files', form, 'half', FORM),
    {
      name: '256 KB in chunks of one byte',
      ...chunked(INFO, Buffer.from(`1\r\n \r\n`.repeat(KB256 / 4))),
      how: 'whole',
    },
    { name: 'a body without end, no key', ...chunked('/messages/batch', chunksOf(8 * MB)), how: 'whole' },
    {
      name: '120 headers',
      head: get('/healthz', ...Array.from({ length: 120 }, (_, n) => `x-${n}: ${n}`)),
      how: 'whole',
    },
    { name: '15 KB of headers without end', head: get('/healthz', `x: ${'y'.repeat(15_000)}`), how: 'half' },
    { name: '70 KB of headers', head: get('/healthz', `x: ${'y'.repeat(70_000)}`), how: 'whole' },
    { name: 'a file that is not read', head: get(mediaPath), how: 'unread' },
    { name: '2,000 requests in one go, not read', head: flood, how: 'unread' },
  ]
}

const FORM = 'content-type: multipart/form-data; boundary=b'
const bearer = (key: string): string => `authorization: Bearer ${key}`

const get = (path: string, ...headers: string[]): string =>
  `${[`GET ${path} HTTP/1.1`, 'host: x', ...headers].join('\r\n')}\r\n\r\n`

function post(name: string, path: string, body: Buffer, how: RawRequest['how'], ...headers: string[]): Hostile {
  const type = headers.includes(FORM) ? [] : ['content-type: application/json']
  const lines = [`POST ${path} HTTP/1.1`, 'host: x', ...type, ...headers, `content-length: ${body.length}`]
  return { name, head: `${lines.join('\r\n')}\r\n\r\n`, body, how }
}

const chunked = (path: string, body: Buffer) => ({
  head: `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
  body,
})

/** The end is never sent. */
const chunksOf = (bytes: number): Buffer =>
  Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`.repeat(Math.floor(bytes / 65_536)))

/** A text of about so many bytes: the piece between a beginning and an end. */
const ofLength = (bytes: number, begin: string, piece: string, end: string): Buffer =>
  Buffer.from(begin + piece.repeat(Math.floor((bytes - begin.length - end.length) / piece.length)) + end)
