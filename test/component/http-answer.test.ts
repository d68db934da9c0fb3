// Pins: an answer is read the same however it is cut into pieces and only as far as it is bounded, and what could be read
// in two ways is no answer. Real: TCP.
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import { createHttpAgent } from '../../src/providers/http-agent.ts'
import { type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import { onRequest, startTcpServer } from '../support/tcp-server.ts'

const agent = createHttpAgent()
afterAll(() => agent.destroy())

const ok = (rest: string) => `HTTP/1.1 200 OK\r\n${rest}`

async function writeIn(socket: Socket, size: number, text: string): Promise<void> {
  socket.setNoDelay()
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length && socket.writable; at += size) {
    socket.write(bytes.subarray(at, at + size))
    await nextTurn()
  }
}

/** What is read of a text that comes in pieces of so many bytes, and then the end of the connection. */
async function readIn(size: number, text: string): Promise<HttpEnd> {
  const server = await startTcpServer((socket) =>
    onRequest(socket, () => void writeIn(socket, size, text).then(() => socket.end())),
  )
  try {
    return await postJson(agent, new URL(server.url), {}, {}, 300_000)
  } finally {
    await server.close()
  }
}

describe('an answer', () => {
  test.each<[string, string, Partial<HttpEnd & { kind: 'answer' }>]>([
    ['with a length', ok('Content-Length: 10\r\n\r\n{"x":"ä"}'), { status: 200, body: '{"x":"ä"}' }],
    ['without a reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n{}', { status: 200, body: '{}' }],
    [
      'in chunks, with extensions and a trailer',
      ok('Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"x\r\n6\r\n":"y"}\r\n0\r\nx-sum: 1\r\n\r\n'),
      { body: '{"x":"y"}' },
    ],
    ['that ends with the connection', ok('x: y\r\n\r\n{"x":1}'), { body: '{"x":1}' }],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}', { body: '{}' }],
    ['that closes', ok('Connection: Close\r\ncontent-length: 2\r\n\r\n{}'), { body: '{}' }],
    ['without a body, whatever it says', 'HTTP/1.1 204 X\r\nx: y\r\n\r\n', { status: 204, body: '' }],
    [
      'after others that do not count',
      `HTTP/1.1 103 X\r\na: b\r\n\r\n${ok('content-length: 1\r\n\r\n1')}`,
      { status: 200, body: '1' },
    ],
    ['with headers that are told', ok('Retry-After:  7 \r\ncontent-length: 0\r\n\r\n'), { retryAfterMs: 7_000 }],
  ])('%s is read the same in pieces of any size', async (_name, text, expected) => {
    const sizes = [...Array.from({ length: 9 }, (_, i) => i + 1), 20, Buffer.byteLength(text)]
    for (const size of sizes) {
      expect(await readIn(size, text), `pieces of ${size}`).toMatchObject({ kind: 'answer', ...expected })
    }
  })
})

describe('what is not read as an answer', () => {
  test.each<[string, string]>([
    ['another protocol', '220 smtp.example ESMTP\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a change of the protocol', 'HTTP/1.1 101 X\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n'],
    ['one of two lengths', ok('content-length: 2\r\ncontent-length: 2\r\n\r\n{}')],
    ['one of a length that is no number', ok('content-length: +2\r\n\r\n{}')],
    [
      'one of a length and of chunks',
      ok('content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n'),
    ],
    ['one that is packed', ok('transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n')],
    ['a header without a name', ok(': x\r\ncontent-length: 0\r\n\r\n')],
    ['a header with a space before the colon', ok('content-length : 0\r\n\r\n')],
    ['a header that is continued on the next line', ok('x: y\r\n z\r\ncontent-length: 0\r\n\r\n')],
    ['a line that ends with a line feed alone', ok('x: y\ncontent-length: 0\r\n\r\n')],
    ['a line with a carriage return in it', ok('x: \ry\r\ncontent-length: 0\r\n\r\n')],
    ['a chunk of no size', ok('transfer-encoding: chunked\r\n\r\nx\r\n')],
    ['a chunk that is longer than it says', ok('transfer-encoding: chunked\r\n\r\n1\r\n{}\r\n0\r\n\r\n')],
    ['an endless head', ok(`x: ${'y'.repeat(20_000)}`)],
    ['an endless line before a chunk', ok(`transfer-encoding: chunked\r\n\r\n1;${'y'.repeat(5_000)}`)],
    ['an endless trailer', ok(`transfer-encoding: chunked\r\n\r\n0\r\nx: ${'y'.repeat(20_000)}`)],
    ['cut before its head is whole', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['cut before as much has come as it says', ok('content-length: 3\r\n\r\n{}')],
    ['cut before the last chunk', ok('transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n')],
    ['cut before the end of the trailer', ok('transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n')],
  ])('%s', async (_name, text) => {
    for (const size of [...(text.length < 500 ? [1] : []), 70, 100_000]) {
      const end = await readIn(size, text)
      expect(end, `pieces of ${size}`).toMatchObject({ kind: 'unanswered' })
    }
  })

  test.each<[string, string]>([
    ['by its length', ok('content-length: 300000\r\n\r\n')],
    ['by its chunks', ok(`transfer-encoding: chunked\r\n\r\n${`ffff\r\n${'x'.repeat(0xffff)}\r\n`.repeat(5)}`)],
    ['until the connection ends', ok(`x: y\r\n\r\n${'x'.repeat(300_000)}`)],
  ])('one that is too large %s', async (_name, text) => {
    expect(await readIn(50_000, text)).toEqual({ kind: 'unanswered', cause: 'answer_too_large' })
  })
})
