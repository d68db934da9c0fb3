// Pins how bodies are taken and what is answered to them, errors of every kind included. Small bodies whose length is told
// go another way than those in chunks, so that each is sent both ways and must be answered alike.
import { request as httpRequest } from 'node:http'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { invalidFields } from '../../src/kernel/refusal.ts'
import { bind, type Route } from '../../src/producer/bind.ts'
import { ApiError } from '../../src/producer/errors.ts'
import { type BodyRule, route } from '../../src/producer/route.ts'
import { connectFailFast, type Redis } from '../../src/redis/connect.ts'
import { startApp } from '../support/app.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { eventually } from '../support/wait.ts'

let redis: Redis
let app: Awaited<ReturnType<typeof startApp>>

const spec = (path: string, body: Extract<BodyRule, { as: 'json' | 'raw' }>) =>
  route({
    method: 'post',
    path,
    summary: 'A test.',
    access: { in: 'open', why: 'a test' },
    headers: z.object({ 'Idempotency-Key': z.string().optional() }),
    body,
    answers: { 201: z.looseObject({}) },
    examples: [],
  })

/** Answers with what it was called with, or throws what the body names. */
const echo = (path: string, body: Extract<BodyRule, { as: 'json' | 'raw' }>): Route[] =>
  bind({ echo: spec(path, body) })({
    async echo(call) {
      if (call.sent.fail === 'fields') throw invalidFields([{ path: 'x', message: 'required' }])
      if (call.sent.fail === 'api')
        throw new ApiError(409, 'taken', 'It is taken.', { headers: { 'Retry-After': '7' } })
      if (call.sent.fail === 'redis') throw new Error('Connection is closed.')
      if (call.sent.fail === 'bug') throw new TypeError('a bug')
      return {
        status: 201,
        headers: { 'x-more': 'yes' },
        body: {
          body: call.sent,
          bytes: call.raw.length,
          key: call.headers['Idempotency-Key'] ?? null,
          id: call.requestId === '' ? 'none' : 'some',
        },
      }
    },
  })

withOwnRedis(async (own) => {
  redis = own
  const rule = { schema: z.looseObject({}), limit: 2_000 }
  app = await startApp(redis, [...echo('/json', { as: 'json', ...rule }), ...echo('/raw', { as: 'raw', ...rule })])
}, connectFailFast)
afterAll(async () => {
  await app?.close()
})

interface Sent {
  method?: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** Sends over node:http, which adds no header of its own but those of the connection and the length. */
function send(path: string, { method = 'POST', headers = {}, body = '' }: Sent) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const request = httpRequest(`${app.url}${path}`, { method, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}

const bodySchema = z.looseObject({ error: z.looseObject({ code: z.string(), request_id: z.string() }).optional() })

/** An answer without what must differ: the date, and the id of the request. */
async function answerOf(path: string, sent: Sent) {
  const { status, headers, text } = await send(path, sent)
  const { error, ...body } = bodySchema.parse(JSON.parse(text))
  const { date: _date, 'x-request-id': id, 'content-length': _length, ...others } = headers
  if (error) expect(error.request_id).toBe(id)
  return { status, headers: others, body, error: error && { ...error, request_id: 'the same' } }
}

const json = { 'content-type': 'application/json' }
const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`

describe('a body is accepted or refused alike with a given length and in chunks', () => {
  test.each<[string, string, Sent, number | string]>([
    ['plain JSON', '/json', { headers: json, body: '{"a":1,"b":"ä€😀"}' }, 201],
    [
      'JSON with its charset',
      '/json',
      { headers: { 'content-type': 'application/json; charset=UTF-8' }, body: '{}' },
      201,
    ],
    ['a key', '/json', { headers: { ...json, 'idempotency-key': 'k1' }, body: '{"a":[1,{"b":null}]}' }, 201],
    ['a byte order mark', '/json', { headers: json, body: '\uFEFF{"a":1}' }, 201],
    ['bytes that are no UTF-8', '/json', { headers: json, body: Buffer.from([0x22, 0xff, 0x22]) }, 'invalid_json'],
    ['a __proto__ of its own', '/json', { headers: json, body: '{"__proto__":{"x":1},"a":1}' }, 201],
    ['as deep as may be', '/json', { headers: json, body: deep(32) }, 201],
    ['too deep', '/json', { headers: json, body: deep(33) }, 'too_deep'],
    ['no JSON', '/json', { headers: json, body: '{"a":' }, 'invalid_json'],
    ['white space only', '/json', { headers: json, body: '   ' }, 'invalid_json'],
    ['a list', '/json', { headers: json, body: '[1]' }, 'invalid_body'],
    ['null', '/json', { headers: json, body: 'null' }, 'invalid_body'],
    ['a number', '/json', { headers: json, body: '7' }, 'invalid_body'],
    ['as long as may be', '/json', { headers: json, body: `{"a":"${'x'.repeat(1_992)}"}` }, 201],
    ['faulty fields', '/json', { headers: json, body: '{"fail":"fields"}' }, 'invalid_request'],
    ['an error with headers', '/json', { headers: json, body: '{"fail":"api"}' }, 'taken'],
    ['Redis away', '/json', { headers: json, body: '{"fail":"redis"}' }, 'unavailable'],
    ['a bug', '/json', { headers: json, body: '{"fail":"bug"}' }, 'internal'],
    [
      'a request id of its own',
      '/json',
      { headers: { ...json, 'x-request-id': 'mine-1' }, body: '{"fail":"api"}' },
      'taken',
    ],
    ['raw bytes', '/raw', { headers: { 'content-type': 'text/plain' }, body: 'hello' }, 201],
    ['raw bytes of no type', '/raw', { body: 'hello' }, 201],
  ])('%s', async (_what, path, sent, expected) => {
    const told = await answerOf(path, sent)
    expect(typeof expected === 'number' ? told.status : told.error?.code).toBe(expected)
    const inChunks = await answerOf(path, { ...sent, headers: { ...sent.headers, 'transfer-encoding': 'chunked' } })
    expect(inChunks).toEqual(told)
  })
})

test.each([
  ['a comma too many', '{"a":1,}', ': line 1, column 8.'],
  ['a comma too few, in the third line', '\uFEFF{\n  "a": 1,\n  "b": 2 "c": 3 }', ': line 3, column 10.'],
  ['the end missing', '{"a":', ': it ends too early.'],
  ['a text without an end', '{"secret', ': line 1, column 9.'],
])('what is not JSON is refused with the position of the fault: %s', async (_what, body, place) => {
  for (const more of [{}, { 'transfer-encoding': 'chunked' }]) {
    const answer = await answerOf('/json', { headers: { ...json, ...more }, body })
    expect(answer.body.message).toBe(`The body is not valid JSON${place}`)
    expect(JSON.stringify(answer)).not.toContain('secret')
  }
})

test('an unknown address is answered with where the addresses are listed', async () => {
  const { body } = await answerOf('/api/send', { headers: json, body: '{}' })
  expect(body.message).toBe('No route for POST /api/send; /docs lists them all.')
})

describe('what cannot be accepted is refused', () => {
  test.each<[string, string, Sent, number]>([
    ['another method', '/json', { method: 'PUT', headers: json, body: '{}' }, 405],
    ['no body', '/json', { headers: json }, 400],
    ['no content type', '/json', { body: '{}' }, 415],
    ['another content type', '/json', { headers: { 'content-type': 'text/plain' }, body: '{}' }, 415],
    ['another charset', '/json', { headers: { 'content-type': 'application/json; charset=x-no' }, body: '{}' }, 415],
    ['compressed', '/json', { headers: { ...json, 'content-encoding': 'gzip' }, body: '{}' }, 415],
    ['too long', '/json', { headers: json, body: `{"a":"${'x'.repeat(1_993)}"}` }, 413],
    ['too long, raw', '/raw', { body: 'x'.repeat(2_001) }, 413],
    ['no length told', '/json', { headers: { ...json, 'transfer-encoding': 'chunked' }, body: '{"a":1}' }, 201],
    ['another path', '/json/', { headers: json, body: '{}' }, 404],
  ])('%s', async (_what, path, sent, status) => {
    expect((await answerOf(path, sent)).status).toBe(status)
  })
})

test('the id of a request is the caller’s when it is valid, else a new one', async () => {
  const idFor = async (given: string) =>
    (await send('/json', { headers: { ...json, 'x-request-id': given }, body: '{}' })).headers['x-request-id']
  expect(await idFor('order:7.a-b_c')).toBe('order:7.a-b_c')
  expect(await idFor('with space')).toMatch(/^[0-9a-f-]{36}$/)
  expect(await idFor('x'.repeat(129))).toMatch(/^[0-9a-f-]{36}$/)
})

test('a client that leaves in the middle of its body harms nobody', async () => {
  await new Promise<void>((resolve) => {
    const request = httpRequest(`${app.url}/json`, { method: 'POST', headers: { ...json, 'content-length': '1000' } })
    request.on('error', () => resolve())
    request.write('{"a":', () => request.destroy())
    request.on('close', () => resolve())
  })
  await eventually(
    async () => (await send('/json', { headers: json, body: '{}' })).status === 201,
    'the next one is answered',
  )
})
