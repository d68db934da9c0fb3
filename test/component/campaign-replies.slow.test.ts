// Pins: who of a campaign has answered is counted once, for the campaign that was answered, in its figures and its export.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { addReply, waitingReplies } from '../../src/campaigns/store/replies.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { receivedName } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns()
})
afterAll(() => service?.close())

/** A person writes, or answers the message that WhatsApp calls so. Returns WhatsApp's id of it. */
async function writes(from: string, more: { text?: string; message_id?: string; type?: string } = {}): Promise<string> {
  const body = JSON.stringify({ sender: `${PHONE_NUMBER_ID}1`, from, ...more })
  const answer = await fetch(`${service.simulator.url}/_inbound`, { method: 'POST', body })
  const { id, delivered } = z.object({ id: z.string(), delivered: z.boolean() }).parse(await answer.json())
  expect(delivered).toBe(true)
  return id
}

/** A campaign to these people whose messages have all arrived. */
async function sentTo(phones: readonly string[]): Promise<string> {
  const id = await service.create({ rows: {} })
  await service.upload(id, `phone,name\n${phones.map((phone) => `${phone},Ann\n`).join('')}`)
  await service.checked(id)
  await service.move(id, 'start')
  await eventually(async () => (await service.show(id)).progress.delivered_total === phones.length, 'all have it')
  return id
}

const replied = async (id: string) => Number((await service.show(id)).progress.replied)
const reaches = (id: string, count: number) =>
  eventually(
    async () => {
      const now = await replied(id)
      if (now !== count) throw new Error(`${now} have answered`)
      return true
    },
    `${count} have answered ${id}`,
    60_000,
  )

const exported = z.looseObject({ recipient: z.string(), message_id: z.string(), replied: z.string().nullable() })
const lines = async (id: string) =>
  (await service.request('GET', `/campaigns/${id}/export?format=ndjson`)).text
    .trimEnd()
    .split('\n')
    .map((line) => exported.parse(JSON.parse(line)))

const providerIdOf = async (message: string): Promise<string> =>
  z
    .object({ data: z.object({ provider_id: z.string() }) })
    .parse((await service.request('GET', `/messages/${message}`)).json()).data.provider_id

test('a reply counts for the latest campaign that reached the person, unless it quotes a message of an earlier one', async () => {
  const [ann, bob, cy, stranger] = ['4915201110001', '4915201110002', '4915201110003', '4915201119999']
  const first = await sentTo([ann, bob, cy])
  const second = await sentTo([ann, bob])
  await writes(ann, { text: 'Yes, please' })
  await reaches(second, 1)
  expect(await replied(first)).toBe(0)

  // Once more, and somebody who got nothing.
  const again = await writes(ann, { text: 'Are you there?' })
  await writes(stranger, { text: 'Who are you?' })
  // The one of an earlier campaign that they quote; cy was sent only that.
  const quoted = (await lines(first)).find(({ recipient }) => recipient === bob)?.message_id ?? ''
  await writes(bob, { text: 'This one', message_id: await providerIdOf(quoted) })
  await writes(cy, { text: 'Hello' })
  await reaches(first, 2)
  expect(await replied(second)).toBe(1)

  // A note that is looked at again, as after a death of the worker, counts nobody twice.
  await addReply(service.redis, service.lane, { message: receivedName(again), receivedAt: Date.now() })
  await writes(bob, { text: 'And hello' })
  await reaches(second, 2)
  expect(await replied(first)).toBe(2)
  expect((await lines(second)).map((line) => [line.recipient, line.replied])).toEqual([
    [ann, 'yes'],
    [bob, 'yes'],
  ])
  expect((await lines(first)).map((line) => line.replied)).toEqual([null, 'yes', 'yes'])
})

test('several replies at once count as one answer to the latest campaign, and to no earlier one', async () => {
  const person = '4915201110006'
  const [first, second] = [await sentTo([person]), await sentTo([person])]
  await Promise.all(['Yes', 'please', 'and', 'thank', 'you', 'very', 'much'].map((text) => writes(person, { text })))
  await reaches(second, 1)
  await eventually(
    async () => (await waitingReplies(service.redis, service.lane, 1)).length === 0,
    'all replies are counted',
  )
  expect(await replied(first)).toBe(0)
})

test('an answer to a message outside any campaign counts for none', async () => {
  const person = '4915201110004'
  const id = await sentTo([person])
  await writes(person, { text: 'About the other', message_id: 'wamid.of-another' })
  const sure = '4915201110005'
  const later = await sentTo([sure])
  await writes(sure, { text: 'Yes' })
  await reaches(later, 1)
  expect(await replied(id)).toBe(0)
})
