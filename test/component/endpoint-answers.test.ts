// Pins: the answer of an endpoint is kept as it came, cut between characters, without anybody's number. Real: Redis, HTTP.
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { postEvents } from '../../src/events/post.ts'
import { listAttempts, noteAttempt } from '../../src/events/store/attempts.ts'
import { createTargetAgent } from '../../src/outbound/target-agent.ts'
import { createTargetRule } from '../../src/outbound/target-rule.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'

let lanes: LaneRedis
let parts: Buffer[] = []
const server = createServer(async (_request, response) => {
  for (const part of parts) {
    response.write(part)
    // Long enough for most machines to read it alone.
    await sleep(50)
  }
  response.end()
})
const agent = createTargetAgent(createTargetRule(['127.0.0.0/8']), 2)
beforeAll(async () => {
  lanes = await startLaneRedis()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
})
afterAll(async () => {
  await agent.destroy()
  server.close()
  await lanes?.close()
})

/** How an endpoint that answers these bytes, chunk by chunk, is said to have answered. */
async function answerOf(...chunks: Buffer[]): Promise<string> {
  parts = chunks
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  const event = { id: 'evt_1', body: '{}', atMs: Date.now() }
  const url = `http://127.0.0.1:${address.port}/`
  return (await postEvents(agent, url, ['whsec_c2VjcmV0'], event, new AbortController().signal)).answer
}

test('a character that comes in two chunks is one character', async () => {
  const bytes = Buffer.from('für')
  expect(await answerOf(bytes.subarray(0, 2), bytes.subarray(2))).toBe('für')
})

test('a character that exceeds the limit of what is read is left out', async () => {
  expect(await answerOf(Buffer.from(`${'x'.repeat(4_095)}ü`))).toBe('x'.repeat(4_095))
})

test('a number at the end of what is kept leaves no digit', async () => {
  const answer = `${'no entry '.repeat(110)}for us +4917612345678`
  const attempt = { at: new Date().toISOString(), delivery: 'evt_1', ok: false, events: 1, types: [], attempt: 1 }
  const end = { status: 500, problem: null, took_ms: 1, answer, retry_at: null }
  await noteAttempt(lanes.redis, 1, 'ep_1', { ...attempt, ...end })
  const kept = await listAttempts(lanes.redis, 1, 'ep_1', { limit: 1, cursor: undefined, nowMs: Date.now() })
  expect(kept?.attempts[0]?.answer).toMatch(/^no entry/)
  expect(kept?.attempts[0]?.answer).not.toMatch(/\d/)
})
