// What no HTTP client sends: bodies that are huge, deep and wide, that come byte by byte, or not to their end, and requests
// that mean one thing to a proxy and another one to us. Seeded, as everything here.
import { connect } from 'node:net'
import type { Operation } from './description.ts'

/** Kinds of it, each in turn. */
export const RAW_KINDS = ['huge', 'deep', 'wide', 'slow', 'cut', 'smuggled'] as const
export type RawKind = (typeof RAW_KINDS)[number]

export interface RawAttempt {
  kind: RawKind
  operation: Operation
  /** Chooses among variants. */
  turn: number
  key: string | undefined
}

/** What came back of one connection: the statuses of its answers, and all of it as text. */
export interface RawAnswer {
  statuses: number[]
  text: string
}

const LIMIT_MS = 30_000
const PIECES = 4
const PAUSE_MS = 30
/** An answer to this shows that a part of a body was taken for a request. */
const SMUGGLED = '/smuggled-request'

/** Sends it; what came until the connection ended, or until nothing more is to come. */
export async function sendRaw(url: string, attempt: RawAttempt): Promise<RawAnswer> {
  const { kind, turn } = attempt
  const bytes = bytesOf(attempt)
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const chunks: Buffer[] = []
  const over = new Promise<void>((resolve) => {
    const limit = setTimeout(() => socket.destroy(), LIMIT_MS)
    socket.on('error', () => {})
    socket.once('close', () => {
      clearTimeout(limit)
      resolve()
    })
  })
  socket.on('data', (chunk) => {
    chunks.push(chunk)
  })
  const write = (part: Buffer): Promise<void> =>
    new Promise((resolve) => {
      socket.once('close', () => resolve())
      socket.write(part, () => resolve())
    })
  if (kind === 'slow') {
    const size = Math.ceil(bytes.length / PIECES)
    for (let from = 0; from < bytes.length && !socket.destroyed; from += size) {
      await write(bytes.subarray(from, from + size))
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    }
  } else if (kind === 'cut') {
    await write(bytes.subarray(0, 1 + ((turn * 7_919) % bytes.length)))
    socket.resetAndDestroy()
  } else await write(bytes)
  await over
  const text = Buffer.concat(chunks).toString('latin1')
  return { statuses: Array.from(text.matchAll(/HTTP\/1\.1 (\d{3})/g), ([, status]) => Number(status)), text }
}

/** What is wrong with the answers; undefined when nothing is. */
export function faultOfRaw({ kind }: RawAttempt, { statuses, text }: RawAnswer): string | undefined {
  const ours = statuses.find((status) => status >= 500 && status !== 503)
  if (ours !== undefined) return `${kind}: ${ours}, a fault of ours`
  if (kind === 'cut') return undefined
  if (kind === 'smuggled' && text.includes(SMUGGLED)) return 'smuggled: a part of a body was answered as a request'
  if (statuses.length === 0) return `${kind}: no answer`
  return statuses.length > 1 && kind !== 'smuggled' ? `${kind}: ${statuses.length} answers to one request` : undefined
}

function bytesOf({ kind, operation, turn, key }: RawAttempt): Buffer {
  const { method } = operation
  const path = operation.path.replaceAll(/\{\w+\}/g, '1')
  const isStream = Object.keys(operation.body).some((type) => !type.startsWith('application/json'))
  const type = isStream ? Object.keys(operation.body)[0] : 'application/json'
  const head = [
    `${method} ${path} HTTP/1.1`,
    'host: x',
    'connection: close',
    ...(key === undefined ? [] : [`authorization: Bearer ${key}`]),
    `content-type: ${type?.startsWith('multipart/') ? `${type}; boundary=b` : type}`,
  ]
  if (kind === 'smuggled') return smuggled(head, turn)
  const body = bodyOf(kind, turn, key)
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\ncontent-length: ${body.length}\r\n\r\n`, 'latin1'), body])
}

function bodyOf(kind: RawKind, turn: number, key: string | undefined): Buffer {
  const credential = key === undefined ? '' : `"api_key":"${key}",`
  const object = (inside: string): Buffer => Buffer.from(`{${credential}${inside}}`)
  const size = [250_000, 1_000_000, 4_100_000][turn % 3] ?? 0
  switch (kind) {
    case 'huge':
      return object(`"messages":[${'"x",'.repeat(size / 4)}"x"]`)
    case 'deep':
      return object(`"template":${'{"a":'.repeat(size / 20)}1${'}'.repeat(size / 20)}`)
    case 'wide':
      return object(Array.from({ length: size / 25 }, (_, place) => `"name${place}":${place}`).join(','))
    default:
      return object(`"to":"+447700900123","type":"text","text":{"body":"${'y'.repeat(turn % 5_000)}"}`)
  }
}

/** Requests of two readings, of which one finds another request in the body. */
function smuggled(head: readonly string[], turn: number): Buffer {
  const inner = `GET ${SMUGGLED} HTTP/1.1\r\nhost: x\r\n\r\n`
  const variants: [headers: string[], body: string][] = [
    [['content-length: 5', 'transfer-encoding: chunked'], `0\r\n\r\n${inner}`],
    [['transfer-encoding: chunked', `content-length: ${inner.length + 5}`], `0\r\n\r\n${inner}`],
    [['content-length: 0', `content-length: ${inner.length}`], inner],
    [[`content-length: ${inner.length}, 0`], inner],
    [['transfer-encoding: xchunked', 'content-length: 0'], inner],
    [['transfer-encoding : chunked', 'content-length: 0'], `0\r\n\r\n${inner}`],
    [['transfer-encoding: chunked', 'transfer-encoding: identity'], `0\r\n\r\n${inner}`],
    [['content-length: +0'], inner],
    [['content-length: 0x0'], inner],
    [['transfer-encoding: chunked'], `0;${'x'.repeat(20_000)}\r\n\r\n${inner}`],
    [['transfer-encoding: chunked'], `ffffffffffffffff1\r\n${inner}`],
    [['x-folded: a', '\tcontent-length: 0'], inner],
    [['x-line: a\ncontent-length: 0'], inner],
  ]
  const [headers, body] = variants[turn % variants.length] ?? [[], '']
  return Buffer.from(`${[...head, ...headers].join('\r\n')}\r\n\r\n${body}`, 'latin1')
}
