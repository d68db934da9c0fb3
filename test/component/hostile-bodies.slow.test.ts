// Pins: a body of whatever shape costs bounded work once it is read, and harms nobody beside it. The requests are those
// that once held the event loop for seconds or ended the process. Real: Redis, HTTP, producer.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineCampaign } from '../../src/campaigns/commands/create.ts'
import { Refusal } from '../../src/kernel/refusal.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { acceptBatch } from '../../src/messages/accept/accept-batch.ts'
import { acceptMessage } from '../../src/messages/accept/accept-message.ts'
import type { SendKind } from '../../src/messages/accept/read-send.ts'
import { imageBody, templateBody } from '../support/example-messages.ts'
import { longestTurn } from '../support/longest-turn.ts'
import { cpuSlowness } from '../support/machine.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { templatesOf } from '../support/state/accounts.ts'

/** No request may hold the event loop for longer: CPU time on cores as quick as ours. */
const TURN_MAX_MS = 100
/** A turn in which the machine had no time is long once, one in which the service takes it is long every time. */
const TRIES = 10
const MB = 1_024 * 1_024

let service: Service
let tenant: Tenant
let queues: ReturnType<typeof openLaneQueues>
beforeAll(async () => {
  service = await startService({ worker: false })
  queues = openLaneQueues(service.redis)
  tenant = await service.addTenant()
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

/** So many of one thing as have room in so many bytes, each a value of its own, as in a body that was read. */
function full(bytes: number, item: unknown): unknown[] {
  const text = JSON.stringify(item)
  return JSON.parse(`[${new Array(Math.floor(bytes / (text.length + 1))).fill(text).join()}]`)
}

const message = (more: object) => ({ ...imageBody(), api_key: undefined, image: undefined, ...more })
const interactive = (action: object, type = 'list') =>
  message({
    type: 'interactive',
    interactive: { type, body: { text: 'a' }, header: { type: 'text', text: 'b' }, action },
  })
const rowsOf = (bytes: number) => interactive({ button: 'a', sections: [{ rows: full(bytes, {}) }] })
const sectionsOf = (bytes: number) => interactive({ button: 'a', sections: full(bytes, {}) })
const buttonsOf = (bytes: number) => interactive({ buttons: full(bytes, {}) }, 'button')
const componentsOf = (components: unknown) => ({ ...templateBody({ components }), api_key: undefined })
const many = (length: number) => Object.fromEntries(Array.from({ length }, (_none, i) => [`field${i}`, 1]))
const good = () => ({ ...imageBody(), api_key: undefined })

/** Repeats the work until one of its longest turns was short, and fails if none was. */
async function takesShortTurns(longestTurnMs: () => Promise<number>): Promise<void> {
  const turns: number[] = []
  while (turns.length < TRIES) {
    const turnMs = await longestTurnMs()
    // How slow the machine is costs time to find out, and may be another figure a second later.
    if (turnMs < TURN_MAX_MS || turnMs < TURN_MAX_MS * (await cpuSlowness())) return
    turns.push(turnMs)
  }
  expect.fail(`turns of ${turns.map((turnMs) => turnMs.toFixed(0)).join(', ')} ms`)
}

const deps = () => ({
  redis: service.redis,
  queues,
  config: service.config,
  onFault: (error: unknown) => {
    throw error
  },
})
const batch = (messages: readonly unknown[], idempotencyKey?: string) =>
  acceptBatch(deps(), { account: tenant.account, body: { messages }, idempotencyKey })
const send = (body: Record<string, unknown>, kind: SendKind = 'service') =>
  acceptMessage(deps(), { account: tenant.account, kind, body, unknownFields: 'ignored', idempotencyKey: undefined })

describe('a batch accepts its good message and delays no others', () => {
  test.each([
    ['4 MB of rows in one message', () => [rowsOf(4 * MB)]],
    ['3 MB of rows in one message', () => [rowsOf(3 * MB)]],
    ['hundreds of messages of 3.5 KB of rows', () => Array.from({ length: 300 }, () => rowsOf(3_500))],
    ['hundreds of messages of 3.5 KB of sections', () => Array.from({ length: 300 }, () => sectionsOf(3_500))],
    [
      'hundreds of messages with the most rows that are looked at',
      () =>
        Array.from({ length: 200 }, () =>
          interactive({ button: 'a', sections: full(36 * 12, { rows: full(36, {}) }) }),
        ),
    ],
    [
      'hundreds of templates with the most parameters that are looked at',
      () =>
        Array.from({ length: 200 }, () =>
          componentsOf([{ type: 'BODY', parameters: full(600, {}) }, ...full(300, { type: 'CAROUSEL', cards: [{}] })]),
        ),
    ],
    [
      '4 MB of cards',
      () => [componentsOf([{ type: 'CAROUSEL', cards: full(4 * MB, { card_index: 0, components: [] }) }])],
    ],
    ['100,000 fields in one parameter', () => [componentsOf([{ type: 'BODY', parameters: [many(100_000)] }])]],
    ['100,000 fields that nobody knows', () => [{ ...good(), ...many(100_000) }]],
    ['4 MB of numbers', () => full(4 * MB, 7).slice(0, 999)],
  ])('%s', async (_what, junk) => {
    const messages = [...junk(), good()]
    for (const name of [undefined, `hostile ${_what}`]) {
      let tries = 0
      await takesShortTurns(async () => {
        tries += 1
        const { result, turnMs } = await longestTurn(() => batch(messages, name && `${name} ${tries}`))
        expect(result.filter((each) => 'id' in each).map(({ index }) => index)).toEqual([messages.length - 1])
        return turnMs
      })
    }
  })
})

describe('one message is refused for its shape and delays nobody', () => {
  const most = 256 * 1_024
  test.each<[string, SendKind, () => Record<string, unknown>]>([
    ['buttons', 'service', () => buttonsOf(most)],
    ['sections', 'service', () => sectionsOf(most)],
    ['rows', 'service', () => rowsOf(most)],
    ['template components', 'template', () => componentsOf(full(most, {}))],
    ['template parameters', 'template', () => componentsOf([{ type: 'BODY', parameters: full(most, {}) }])],
    [
      'parameters with one value too many',
      'template',
      () => componentsOf([{ parameters: [{ type: 'text', text: full(most, {}) }] }]),
    ],
  ])('256 KB of %s', async (_what, kind, bodyOf) => {
    const body = bodyOf()
    await takesShortTurns(async () => {
      const { result, turnMs } = await longestTurn(() =>
        send(body, kind).then(
          () => undefined,
          (error: unknown) => error,
        ),
      )
      if (!(result instanceof Refusal)) throw new Error(`not refused: ${String(result)}`)
      expect(result.code).toBe('invalid_request')
      expect(result.faults.length).toBeLessThanOrEqual(100)
      return turnMs
    })
    const path = kind === 'service' ? '/sendservicemessages/sendmessages' : '/chatappbusiness/send-templated-message'
    const answer = await service.post(path, { ...body, api_key: tenant.apiKey })
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(answer.status).toBeLessThan(500)
  })
})

test('a good message is accepted over HTTP although the other one of the request is junk', async () => {
  const messages = [rowsOf(100_000), good()]
  const answer = await tenant.api.post('/messages/batch', { messages })
  expect(answer.status).toBe(200)
  const { results } = z.object({ results: z.array(z.object({ id: z.string().optional() })) }).parse(answer.json)
  expect(results.map(({ id }) => id !== undefined)).toEqual([false, true])
})

test('a message that cannot be checked because of our own fault is refused, and its good neighbour accepted', async () => {
  await templatesOf(service.redis, tenant.account).change({ 'order_update/en_US': 'no JSON' })
  const heard: number[] = []
  const request = { account: tenant.account, body: { messages: [componentsOf([]), good()] }, idempotencyKey: undefined }
  const results = await acceptBatch({ ...deps(), onFault: (_error, index) => heard.push(index) }, request)
  expect(results).toMatchObject([
    { index: 0, error: { code: 'internal' } },
    { index: 1, id: expect.any(String) },
  ])
  expect(heard).toEqual([0])
  const over = await tenant.api.post('/messages/batch', request.body)
  expect(over).toMatchObject({ status: 200, json: { results: [{ error: { code: 'internal' } }, { index: 1 }] } })
  await templatesOf(service.redis, tenant.account).drop('order_update/en_US')
})

test('9,000 tags are refused before any is checked', async () => {
  const api_key = await tenant.key('contacts:read')
  const tags = Array.from({ length: 9_000 }, () => 'a')
  await takesShortTurns(async () => {
    const { result, turnMs } = await longestTurn(() =>
      service.post('/api/betav3/tagmanage/tag/fetchContactsTagWise', { api_key, tags }),
    )
    expect(result).toMatchObject({
      status: 422,
      body: { error: { code: 'invalid_tags', details: [{ path: 'tags' }] } },
    })
    return turnMs
  })
})

test('60,000 file ids are refused, and only the first few faults listed', async () => {
  const api = await tenant.apiWith('gallery')
  const body = { file_ids: full(250 * 1_024, 'a'), folder_id: 1 }
  await takesShortTurns(async () => {
    const { result, turnMs } = await longestTurn(() => api.post('/partners/wp-gallery/manage/files/bulk-move', body))
    expect(result.status).toBe(400)
    return turnMs
  })
})

test.each([
  ['components', { components: full(250 * 1_024, {}) }],
  ['one parameter', { components: [{ type: 'BODY', parameters: [{ type: 'text', text: full(250 * 1_024, {}) }] }] }],
  ['a long text', { components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'x'.repeat(17_000) }] }] }],
])('a campaign of more than 16 KB in %s is refused', async (_what, template) => {
  const body = {
    sender: tenant.partnerNumber,
    template: { name: 'spring', language: { code: 'en_US' }, ...template },
    recipients: { tags: [1] },
  }
  await takesShortTurns(async () => {
    const { result, turnMs } = await longestTurn(() =>
      defineCampaign(
        { redis: service.redis, retentionMs: service.config.retentionMs },
        { account: tenant.account, body, idempotencyKey: undefined },
      ).catch((error: unknown) => error),
    )
    if (!(result instanceof Refusal)) throw new Error(`not refused: ${String(result)}`)
    expect(result.faults[0]?.message).toMatch(/^a campaign has at most 16384 characters/)
    return turnMs
  })
})
