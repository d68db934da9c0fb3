// `messages show`: a message as a document and as a story. Real: Redis, the steps of a message.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import type { SendPayload } from '../../src/jobs/send.ts'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { recordStatus, resolveUnconfirmed, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { claim } from '../support/claim.ts'
import { runCli } from '../support/cli.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

const HOUR_MS = 3_600_000

let server: TestRedis
let redis: Redis
let account: number
let lane: number

beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
  account = await createAccount(redis, 'Shop')
  lane = await addSender(redis, {
    account,
    number: '14155550100',
    name: 'desk',
    provider: 'cloud-api',
    baseUrl: 'https://graph.example',
    sealedToken: () => 'sealed',
    phoneNumberId: '106555',
    rate: 80,
    honoursIdempotency: false,
    isDefault: true,
  })
})

afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const show = (id: string, ...more: string[]) => runCli(['messages', 'show', id, ...more], { REDIS_URL: server.url })

async function document(id: string) {
  const run = await show(id, '--json')
  expect(run).toMatchObject({ code: 0, stderr: '' })
  return JSON.parse(run.stdout).data
}

function newId(ageMs = 0) {
  const id = parseMessageId(messageId(lane, newUlid(Date.now() - ageMs)))
  if (id === undefined) throw new Error('not an id')
  return { id, text: messageId(id.lane, id.ulid) }
}

const claimed = async (id: ReturnType<typeof newId>['id'], attempt: string) =>
  claim(
    redis,
    id,
    attempt,
    {
      to: '4915123456789',
      type: 'template',
      text: 'Your order is on its way',
      class: 'campaign',
      validUntil: Date.now() + HOUR_MS,
      campaign: 'spring',
      run: undefined,
    },
    { lostAfterMs: 10_000, evidenceWaitMs: 0, retentionMs: HOUR_MS },
  )

test('a waiting message is shown from its job', async () => {
  const { text } = newId()
  const until = Date.now() + HOUR_MS
  const payload: SendPayload = {
    v: 1,
    to: '4915123456789',
    class: 'transactional',
    content: { type: 'image', image: { link: 'https://pictures.example/1.png', caption: 'Hello there' } },
    until,
  }
  const lanes = openLaneQueues(redis)
  await lanes.add(text, payload)
  await lanes.close()
  expect(await document(text)).toMatchObject({
    id: text,
    direction: 'outbound',
    sender: '14155550100',
    to: '4915123456789',
    kind: 'image',
    class: 'transactional',
    campaign_id: null,
    text: 'Hello there',
    state: 'queued',
    possible_duplicate: false,
    problem: null,
    valid_until: new Date(until).toISOString(),
    history: [{ event: 'accepted' }],
  })
})

test('a delivered message is shown with its history, oldest first, and how long each step took', async () => {
  const { id, text } = newId(2_000)
  await claimed(id, 'AAAAAA')
  await recordStatus(redis, id, 'AAAAAA', 'sent', { providerId: 'wamid.X' })
  await recordStatus(redis, id, 'AAAAAA', 'delivered')
  const shown = await document(text)
  expect(shown).toMatchObject({ state: 'delivered', campaign_id: 'spring', class: 'campaign', provider_id: 'wamid.X' })
  expect(shown.history.map(({ event }: { event: string }) => event)).toEqual([
    'accepted',
    'claimed',
    'sent',
    'delivered',
  ])
  expect(shown.history[1]).toMatchObject({ attempt: 'AAAAAA', detail: null })

  const { stdout } = await show(text)
  expect(stdout).toContain('From         14155550100\n')
  expect(stdout).toContain('Kind         template, campaign, campaign spring\n')
  expect(stdout).toContain('State        delivered\n')
  const story = stdout.split('\n').filter((line) => /^\d{4}-/.test(line))
  expect(story).toHaveLength(4)
  expect(story[0]).toMatch(/^\S+Z +\+0\.000 s +accepted/)
  expect(story[1]).toMatch(/^\S+Z +\+[2-9]\.\d{3} s +claimed +AAAAAA$/)
})

test('a message that may have been sent twice is shown as such, with the reason', async () => {
  const { id, text } = newId()
  await claimed(id, 'BBBBBB')
  await setUnconfirmed(redis, id, 'BBBBBB', {
    problem: { code: 'timeout', sentence: 'No answer came.' },
    evidenceMs: 0,
  })
  expect(await document(text)).toMatchObject({
    state: 'unconfirmed',
    problem: { code: 'timeout', sentence: 'No answer came.' },
  })
  await resolveUnconfirmed(redis, id, 'BBBBBB', 'once', 5)
  expect(await document(text)).toMatchObject({ state: 'queued', possible_duplicate: true })
  expect((await show(text)).stdout).toContain('State        queued, possible duplicate\n')
})

test("a received message is found by WhatsApp's id, and its text cannot move the cursor", async () => {
  const message = {
    id: 'wamid.in',
    lane,
    from: '4915123456789',
    type: 'text',
    text: 'Hi\u001b[2J',
    received_at: 1_790_000_000_000,
  }
  await storeInbound(redis, account, message, HOUR_MS)
  expect(await document('wamid.in')).toMatchObject({
    id: 'wamid.in',
    direction: 'inbound',
    sender: '14155550100',
    from: '4915123456789',
    kind: 'text',
    text: 'Hi\u001b[2J',
    accepted_at: '2026-09-21T14:13:20.000Z',
  })
  expect((await show('wamid.in')).stdout).toContain('Text      Hi\\u001b[2J\n')
})

test('the parts of a received message besides its text are shown, one line each', async () => {
  const parts = {
    ...{ from_name: 'Ada', from_username: 'ada.b', from_user_id: 'US.1' },
    context: { message_id: 'wamid.before', forwarded: true },
    reply: { id: 'tea', title: 'Tea' },
    media: { id: '77', mime_type: 'image/jpeg', filename: 'a\u001b.jpg' },
    location: { latitude: 1.5, longitude: -2, name: 'Pier' },
    reaction: { message_id: 'wamid.before', emoji: '' },
    order: { items: [{ product_retailer_id: 'TEA', quantity: 2, item_price: 3, currency: 'EUR' }] },
    contacts: [{ name: 'Bo', phones: [{ phone: '+1' }], emails: [] }],
    referral: { headline: 'Sale' },
    system: { type: 'user_changed_number', wa_id: '492' },
    ...{ edits: 'wamid.old', deletes: 'wamid.gone' },
  }
  const message = { id: 'wamid.parts', lane, from: '491', type: 'text', text: '', parts, received_at: Date.now() }
  await storeInbound(redis, account, message, HOUR_MS)
  const lines = (await show('wamid.parts')).stdout.split('\n').map((line) => line.replace(/ {2,}/, ': '))
  expect(lines).toEqual(
    expect.arrayContaining([
      ...['Name: Ada', 'Username: ada.b', 'User id: US.1', 'Chose: Tea (tea)', 'Answers: wamid.before'],
      ...['File: a\\u001b.jpg, image/jpeg, 77', 'Place: Pier, 1.5, -2', 'Reaction: taken back, to wamid.before'],
      ...['Order: 2 × TEA at 3 EUR', 'Contacts: Bo, +1', 'Came by: Sale', 'Changed: user_changed_number, 492'],
      ...['Forwarded: yes', 'Replaces: wamid.old', 'Deletes: wamid.gone'],
    ]),
  )
})

test.each([
  ['an id of ours', messageId(1, newUlid(0))],
  ['any other string', 'nonsense'],
])('a message that does not exist is an error for %s', async (_, id) => {
  expect(await show(id, '--json')).toEqual({
    code: 1,
    stdout: '',
    stderr: `error: The message does not exist: ${id}. [not_found]\n`,
  })
})

test('messages list shows what matches, newest first, and how to continue', async () => {
  const queues = openLaneQueues(redis)
  const ids = Array.from({ length: 3 }, (_, i) => newId(3_000 - i * 1_000).text)
  const payload: SendPayload = {
    ...{ v: 1, to: '4915120000077', class: 'transactional', until: Date.now() + HOUR_MS },
    content: { type: 'audio', audio: { link: 'https://example.com/a.mp3' } },
  }
  await queues.addMany(ids.map((id) => ({ id, payload })))
  await queues.close()
  const list = (...more: string[]) =>
    runCli(['messages', 'list', '--account', String(account), '--to', '+4915120000077', ...more], {
      REDIS_URL: server.url,
    })
  const all = JSON.parse((await list('--json')).stdout)
  expect(all.data.map(({ id }: { id: string }) => id)).toEqual([...ids].reverse())
  expect(all.next).toBeNull()
  const first = JSON.parse((await list('--json', '--limit', '2')).stdout)
  const rest = JSON.parse((await list('--json', '--cursor', first.next)).stdout)
  expect(rest.data.map(({ id }: { id: string }) => id)).toEqual([ids[0]])
  const shown = await list('--state', 'queued')
  expect(shown.stdout).toMatch(new RegExp(`${ids[2]} .*queued .*14155550100 .*4915120000077 .*audio`))
  expect((await list('--state', 'failed')).stdout).toContain('No messages.')
  expect(await list('--cursor', 'garbage')).toMatchObject({ code: 1 })
  expect(await list('--sender', '4900000000')).toMatchObject({ code: 1 })
})

test('the conversation with a person is listed, both directions together', async () => {
  const queues = openLaneQueues(redis)
  const [person, { text: id }] = ['4915120000078', newId(1_000)]
  await queues.add(id, {
    ...{ v: 1, to: person, class: 'transactional', until: Date.now() + HOUR_MS },
    content: { type: 'audio', audio: { link: 'https://example.com/a.mp3' } },
  })
  await queues.close()
  const received = { id: 'wamid.with', lane, from: person, type: 'text', text: 'Hi', received_at: Date.now() }
  await storeInbound(redis, account, received, HOUR_MS)
  const run = await runCli(['messages', 'list', '--account', String(account), '--with', `+${person}`, '--json'], {
    REDIS_URL: server.url,
  })
  expect(JSON.parse(run.stdout).data.map((each: { id: string }) => each.id)).toEqual(['wamid.with', id])
})

test('a person without a number is listed by the user id', async () => {
  const received = { lane, from: 'US.4711', type: 'text', text: 'Hi', received_at: Date.now() }
  await storeInbound(redis, account, { id: 'wamid.of-an-id', ...received }, HOUR_MS)
  const list = (person: string) =>
    runCli(['messages', 'list', '--account', String(account), '--from', person, '--json'], { REDIS_URL: server.url })
  expect(JSON.parse((await list('US.4711')).stdout)).toMatchObject({
    data: [{ id: 'wamid.of-an-id', from: 'US.4711' }],
  })
  expect(await list('nobody')).toMatchObject({ code: 1, stderr: expect.stringContaining('--from: expected') })
})
