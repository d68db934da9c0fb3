// Pins: each rule of physics is switched on by the control endpoint, is off before and after, and is told by signed webhook
// and in the listing. Real: the simulator, HTTP.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import { codeOf, post, postCloud, startWebhookReceiver } from '../support/simulator-wires.ts'

const FIRST = '106540352242922'
const SECOND = '106540352242923'
const PORTFOLIO = { waba_id: '100000000000042', senders: [FIRST, SECOND], marketing: ['news'] }

let simulator: Simulator
let receiver: Awaited<ReturnType<typeof startWebhookReceiver>>
beforeEach(async () => {
  receiver = await startWebhookReceiver()
  simulator = await startSimulator({ port: 0, sentMs: 0, deliveredMs: 10, readMs: 20, webhookUrl: receiver.url })
})
afterEach(async () => {
  await simulator.close()
  await receiver.close()
})

const physics = async (rules: object) => {
  const answer = await post(`${simulator.url}/_control`, { physics: [{ ...PORTFOLIO, ...rules }] })
  expect(answer.status).toBe(200)
}

const taken = z.object({ messages: z.tuple([z.object({ id: z.string(), message_status: z.string().optional() })]) })
let person = 0
/** Sends a template to a person of their own; its code, or how it was taken. */
const send = async ({ name = 'news', to = `+4917012${String(++person).padStart(5, '0')}`, from = FIRST } = {}) => {
  const template = { name, language: { code: 'en_US' } }
  const body = { messaging_product: 'whatsapp', recipient_type: 'individual', to, type: 'template', template }
  const answer = await postCloud(simulator.url, body, from)
  return answer.status === 200 ? taken.parse(answer.body).messages[0].message_status : codeOf(answer)
}

const lineSchema = z.looseObject({ event: z.string(), portfolio: z.string() })
const listing = async () => {
  const text = await (await fetch(`${simulator.url}/_physics`)).text()
  const lines = text.split('\n').filter((line) => line !== '')
  return lines.map((line) => lineSchema.parse(JSON.parse(line)))
}
const events = async () => (await listing()).map(({ event }) => event)

const told = (field: string) => receiver.news().filter((each) => each.field === field)

test('physics are off until they are switched on, and off again with null', async () => {
  expect(await send()).toBe('accepted')
  await physics({ caps: { share: 1 } })
  expect(await send()).toBe(131049)
  await post(`${simulator.url}/_control`, { physics: null })
  expect(await send()).toBe('accepted')
  expect(await events()).toEqual(['capped'])
})

test('a plan that contradicts itself is refused', async () => {
  const both = [PORTFOLIO, { ...PORTFOLIO, waba_id: '2' }]
  const answer = await post(`${simulator.url}/_control`, { physics: both })
  expect(answer.status).toBe(400)
})

test('caps: refused at once, or failed by webhook, and messages within one are listed', async () => {
  await physics({ caps: { share: 1 } })
  const to = '+491701299991'
  expect(await send({ to })).toBe(131049)
  expect(await send({ to, from: SECOND })).toBe(131049)
  expect(await send({ to, name: 'code' })).toBe('accepted')
  expect(await events()).toEqual(['capped', 'within_cap'])

  await physics({ caps: { share: 1, told: 'webhook' } })
  expect(await send()).toBe('accepted')
  await receiver.until(() => receiver.statuses().some(({ status }) => status === 'failed'))
})

test('holds that end well: held in the answer, sent when decided', async () => {
  await physics({ holds: { for_ms: 300, ends: 'well' } })
  expect(await send()).toBe('held_for_quality_assessment')
  expect(await send({ name: 'code' })).toBe('accepted')
  await receiver.until(() => receiver.statuses().filter(({ status }) => status === 'read').length === 2)
  expect(await send()).toBe('accepted')
})

test('holds that end badly: failed, and the template is paused by a webhook of the account', async () => {
  await physics({ holds: { for_ms: 200, ends: 'badly', code: 135000 } })
  expect(await send()).toBe('held_for_quality_assessment')
  await receiver.until(() => receiver.statuses().some(({ status }) => status === 'failed'))
  await receiver.until(() => told('message_template_status_update').length === 1)
  expect(told('message_template_status_update')).toMatchObject([
    {
      wabaId: PORTFOLIO.waba_id,
      value: { event: 'PAUSED', message_template_name: 'news', message_template_language: 'en_US' },
    },
  ])
  expect(await send()).toBe(132015)
})

test('the budget: shared by the numbers, refused above it, and raised by a webhook', async () => {
  // One that is raised later than any machine takes for two messages, and one whose rise is waited for.
  await physics({ budget: { people: 1, raised_to: 2, raised_after_ms: 3_600_000 } })
  expect(await send()).toBe('accepted')
  expect(await send({ name: 'code', from: SECOND })).toBe(131048)
  await physics({ budget: { people: 1, raised_to: 2, raised_after_ms: 300 } })
  expect(await send()).toBe('accepted')
  await receiver.until(() => told('business_capability_update').length === 1)
  expect(await send({ name: 'code', from: SECOND })).toBe('accepted')
  expect(await send({ name: 'code', from: SECOND })).toBe(131048)
})

test('quality: blocks pause the template and restrict the number, each reported by webhook', async () => {
  await physics({
    quality: { blocks: 1, pauses_template_at: 3, holds_number_back_at: 3, holds_number_back_ms: 600_000 },
  })
  for (let n = 0; n < 3; n += 1) expect(await send()).toBe('accepted')
  await receiver.until(() => told('message_template_status_update').length === 1)
  await receiver.until(() => told('phone_number_quality_update').length === 1)
  expect(told('message_template_quality_update').map(({ value }) => value.new_quality_score)).toEqual(['YELLOW', 'RED'])
  expect(told('phone_number_quality_update')[0]?.value).toMatchObject({
    event: 'FLAGGED',
    display_phone_number: '15552242922',
  })
  expect(await send({ from: SECOND })).toBe(132015)
  expect(await send({ name: 'code' })).toBe(131048)
  expect(await send({ name: 'code', from: SECOND })).toBe('accepted')
})

test('throughput and maintenance belong to a number', async () => {
  await physics({ throughput: { rate: 1, raised_after: 1 } })
  expect(await send()).toBe('accepted')
  expect(await send()).toBe('accepted')
  await receiver.until(() => told('phone_number_quality_update').length === 1)
  expect(told('phone_number_quality_update')[0]?.value).toMatchObject({ event: 'THROUGHPUT_UPGRADE' })

  await physics({ maintenance: { after: 1, for_ms: 600_000 } })
  expect(await send()).toBe('accepted')
  expect(await send()).toBe(131057)
  expect(await send({ from: SECOND })).toBe('accepted')
})
