// Pins: a campaign from its draft to the last recipient: exact, bounded, steerable at every moment.
// Real: Redis, HTTP, producer, worker. Stood in for: the chat product.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CampaignService, startCampaigns, sumOf } from '../support/campaigns.ts'

let service: CampaignService

beforeAll(async () => {
  service = await startCampaigns({ env: { LANEWAY_SEND_TIMEOUT_SECONDS: '2' } })
})
afterAll(() => service?.close())

test('everybody in a tag gets the message once, in order, with their own values, and the figures add up all the while', async () => {
  const { tag, phones } = await service.addPeople(2_000)
  const id = await service.ready({ tags: [tag] })
  await service.steer(id, 'start')
  let readings = 0
  for (;;) {
    const now = await service.show(id)
    expect(sumOf(now)).toBe(2_000)
    readings += 1
    if (now.state === 'done') break
  }
  expect(readings).toBeGreaterThan(1)
  const ledger = await service.ledger()
  expect(ledger.length).toBe(2_000)
  expect([...ledger].sort()).toEqual([...phones].sort())
})
