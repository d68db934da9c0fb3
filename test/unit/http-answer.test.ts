// Pins: an answer is read the same however it is cut into pieces, and what could be read in two ways is no answer.
import { describe, expect, test } from 'vitest'
import { type Answer, AnswerError, createAnswerReader } from '../../src/providers/http-answer.ts'

const ok = (rest: string) => `HTTP/1.1 200 OK\r\n${rest}`

/** What is read of a text that comes in pieces of so many bytes, and then the end of the connection. */
function readIn(size: number, text: string): Answer | undefined {
  const reader = createAnswerReader()
  const bytes = Buffer.from(text)
  let answer: Answer | undefined
  for (let at = 0; at < bytes.length; at += size) answer ??= reader.read(bytes.subarray(at, at + size))
  return answer ?? reader.end()
}

describe('an answer', () => {
  test.each<[string, string, Partial<Answer>]>([
    [
      'with a length',
      ok('Content-Length: 9\r\n\r\n{"x":"ä"}'.replace('9', '10')),
      { body: '{"x":"ä"}', isLast: false },
    ],
    ['without a reason', 'HTTP/1.1 200\r\ncontent-length: 2\r\n\r\n{}', { status: 200, body: '{}' }],
    [
      'in chunks, with extensions and a trailer',
      ok('Transfer-Encoding: chunked\r\n\r\n3;x=y\r\n{"x\r\n6\r\n":"y"}\r\n0\r\nx-sum: 1\r\n\r\n'),
      { body: '{"x":"y"}', isLast: false },
    ],
    ['that ends with the connection', ok('x: y\r\n\r\n{"x":1}'), { body: '{"x":1}', isLast: true }],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\n{}', { body: '{}', isLast: true }],
    ['that closes', ok('Connection: Close\r\ncontent-length: 2\r\n\r\n{}'), { body: '{}', isLast: true }],
    ['that keeps', ok('keep-alive: timeout=5, max=99\r\ncontent-length: 0\r\n\r\n'), { body: '', keptMs: 5_000 }],
    ['without a body, whatever it says', 'HTTP/1.1 204 X\r\nx: y\r\n\r\n', { status: 204, body: '', isLast: false }],
    [
      'after others that do not count',
      `HTTP/1.1 103 X\r\na: b\r\n\r\n${ok('content-length: 1\r\n\r\n1')}`,
      { body: '1' },
    ],
    [
      'with headers that are told',
      ok('Retry-After:  7 \r\ndate: today\r\ncontent-length: 0\r\n\r\n'),
      { retryAfter: '7', date: 'today' },
    ],
  ])('%s is read the same in pieces of any size', (_name, text, expected) => {
    for (let size = 1; size <= Buffer.byteLength(text); size += 1) {
      expect(readIn(size, text), `pieces of ${size}`).toMatchObject(expected)
    }
  })

  test('with more behind it is the last one of its connection', () => {
    expect(readIn(1_000, ok('content-length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\n'))).toMatchObject({
      body: '{}',
      isLast: true,
    })
  })

  test('and the next one are read one after the other', () => {
    const reader = createAnswerReader()
    for (const body of ['one', 'two']) {
      expect(reader.read(Buffer.from(ok('transfer-encoding: chunked\r\n\r\n')))).toBeUndefined()
      expect(reader.read(Buffer.from(`3\r\n${body}\r\n0\r\n\r\n`))).toMatchObject({ body })
      expect(reader.read(Buffer.from(ok(`content-length: 3\r\n\r\n${body}`)))).toMatchObject({ body })
    }
  })
})

describe('no answer is', () => {
  test.each<[string, string]>([
    ['another protocol', '220 smtp.example ESMTP\r\n\r\n'],
    ['a status that is none', 'HTTP/1.1 20 OK\r\n\r\n'],
    ['a change of the protocol', 'HTTP/1.1 101 X\r\n\r\n'],
    ['HTTP/2 in words', 'HTTP/2.0 200 OK\r\n\r\n'],
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
  ])('%s', (_name, text) => {
    for (const size of [1, 7, 100_000]) {
      expect(() => readIn(size, text), `pieces of ${size}`).toThrow(new AnswerError('bad_answer'))
    }
  })

  test.each<[string, string]>([
    ['by its length', ok('content-length: 300000\r\n\r\n')],
    ['by its chunks', ok(`transfer-encoding: chunked\r\n\r\n${`ffff\r\n${'x'.repeat(0xffff)}\r\n`.repeat(5)}`)],
    ['until the connection ends', ok(`x: y\r\n\r\n${'x'.repeat(300_000)}`)],
  ])('one that is too large %s', (_name, text) => {
    expect(() => readIn(50_000, text)).toThrow(new AnswerError('answer_too_large'))
  })

  test.each<[string, string]>([
    ['before its head is whole', 'HTTP/1.1 200 OK\r\ncontent-le'],
    ['before as much has come as it says', ok('content-length: 3\r\n\r\n{}')],
    ['before the last chunk', ok('transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n')],
    ['before the end of the trailer', ok('transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n')],
  ])('one whose connection ends %s', (_name, text) => {
    for (const size of [1, 7, 1_000]) expect(readIn(size, text)).toBeUndefined()
  })
})
