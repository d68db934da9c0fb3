// Pins: a campaign from its draft to the last recipient: exact, bounded, steerable at every moment.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { countPlaces } from '../../src/lanes/places.ts'
import { type CampaignService, startCampaigns, sumOf } from '../support/campaigns.ts'
import { acknowledgedId, audioTo, reaches } from '../support/messages.ts'
import { campaignBacklogOn } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService

beforeAll(async () => {
  // Slow enough for a look, a pause and a cancellation to come before everybody was sent to, on any machine.
  service = await startCampaigns({ rate: 400 })
})
afterAll(() => service?.close())

test('everybody in a tag gets the message once, with their own values, and the figures always add up', async () => {
  const { tag, phones } = await service.addPeople(800)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  let readings = 0
  for (;;) {
    const now = await service.show(id)
    expect(sumOf(now)).toBe(800)
    readings += 1
    if (now.state === 'done') break
  }
  expect(readings).toBeGreaterThan(1)
  const ledger = await service.ledger()
  expect(ledger.length).toBe(800)
  expect([...ledger].sort()).toEqual([...phones].sort())
  const [first = ''] = (await service.request('GET', `/campaigns/${id}/export?format=ndjson`)).text.split('\n')
  const { recipient, message_id } = JSON.parse(first)
  expect(recipient).toBe(phones[0])
  const info = await service.post('/chatappbusiness/fetchmessageinfo', { api_key: service.tenant.apiKey, message_id })
  expect(info.body).toHaveProperty('message.data.message_text', 'Dear P0, spring is here.')
})

test('a pause takes effect within a second, nothing moves meanwhile, and a resumed campaign goes on where it was', async () => {
  const { tag, phones } = await service.addPeople(1_000)
  const before = (await service.ledger()).length
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await service.ledger()).length > before + 50, 'some are sent')
  const paused = await service.move(id, 'pause', { reason: 'lunch' })
  expect(paused).toMatchObject({ state: 'paused', reason: 'lunch' })
  await inFlightIsOver(id)
  const held = (await service.ledger()).length
  expect(held).toBeLessThan(before + 1_000)
  await laneIsEmpty()
  expect((await service.ledger()).length).toBe(held)

  // Others on the lane do not stay put, also not one that waits for its time.
  const send_at = new Date(Date.now() + 10_000).toISOString()
  const alone = audioTo('+491529990001', { send_at })
  const put = await service.post('/sendservicemessages/sendmessages', { ...alone, api_key: service.tenant.apiKey })
  await reaches(service, service.tenant, acknowledgedId(put), 'read', 60_000)
  expect((await service.ledger()).slice(held)).toEqual(['491529990001'])
  expect((await service.show(id)).state).toBe('paused')
  await service.move(id, 'resume')
  const done = await service.reaches(id, 'done')
  expect(done.progress).toMatchObject({ total: 1_000, queued: 0 })
  expect((await service.ledger()).slice(before).sort()).toEqual([...phones, '491529990001'].sort())
})

test('a cancelled campaign sends nothing more, and a person not reached by then counts as cancelled', async () => {
  const { tag } = await service.addPeople(1_000)
  const before = (await service.ledger()).length
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await service.ledger()).length > before + 50, 'some are sent')
  await service.move(id, 'cancel')
  await inFlightIsOver(id)
  const held = (await service.ledger()).length
  await laneIsEmpty()
  const sent = (await service.ledger()).length - before
  expect(before + sent).toBe(held)
  const now = await service.show(id)
  expect(sumOf(now)).toBe(1_000)
  expect(now.progress).toMatchObject({ queued: 0, sending: 0, cancelled: 1_000 - sent })
  expect((await service.request('POST', `/campaigns/${id}/resume`)).status).toBe(422)
})

/** Nothing of the campaign is on its way to WhatsApp any more. */
const inFlightIsOver = (id: string) =>
  eventually(async () => (await service.show(id)).progress.sending === 0, 'nothing is in flight')

/** Every job and place on the lane was taken up, and either sent or dropped. */
const laneIsEmpty = () =>
  eventually(async () => {
    const { redis, lane } = service
    return (await campaignBacklogOn(redis, lane)) + (await countPlaces(redis, lane)) === 0
  }, 'the lane is empty')
