// Pins: two campaigns on one lane share it evenly from the moment that both send. Real: Redis, HTTP, producer, worker.
// Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { eventually } from '../support/wait.ts'

const RATE = 40
/** Ten seconds of the lane. */
const WATCHED = 10 * RATE
const HALF = WATCHED / 2

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns({ rate: RATE })
})
afterAll(() => service?.close())

test('two campaigns get half each of ten seconds of a lane, within 5 %', async () => {
  // The first has enough for a second that begins to send much later.
  const [first, second] = [await service.addPeople(4 * WATCHED), await service.addPeople(WATCHED)]
  const ids = [await service.ready({ tags: [first.tag] }), await service.ready({ tags: [second.tag] })]
  await service.move(ids[0] ?? '', 'start')
  await eventually(async () => (await service.ledger()).length > 0, 'the first sends')
  await service.move(ids[1] ?? '', 'start')

  const ofSecond = new Set(second.phones)
  const sinceBoth = async () => {
    const all = await service.ledger()
    const at = all.findIndex((phone) => ofSecond.has(phone))
    return at === -1 ? [] : all.slice(at, at + WATCHED)
  }
  await eventually(async () => (await sinceBoth()).length === WATCHED, 'ten seconds of both', 90_000)
  const share = (await sinceBoth()).filter((phone) => ofSecond.has(phone)).length
  expect(share).toBeGreaterThanOrEqual(HALF * 0.95)
  expect(share).toBeLessThanOrEqual(HALF * 1.05)
})
