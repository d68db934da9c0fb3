// Pins: what was read counts as delivered wherever a figure of delivered is given, although nobody reported the delivery.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { type CampaignService, startCampaigns, sumOf } from '../support/campaigns.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns()
})
afterAll(() => service?.close())

/** Read without a word of a delivery; taken, and nothing more is said of it; refused. */
const [READ, SILENT, REFUSED] = ['15550100406', '15550100404', '15550100105']
const lineSchema = z.looseObject({ recipient: z.string(), delivered: z.string().nullable() })

test('a read message also counts as delivered in figures, list, export and snapshot, and the states still add up', async () => {
  const id = await service.create({ rows: {} })
  await service.upload(id, `phone,name\n${[READ, SILENT, REFUSED].map((phone) => `${phone},Ann\n`).join('')}`)
  await service.checked(id)
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  const campaign = await eventually(async () => {
    const now = await service.show(id)
    return now.progress.read === 1 && now
  }, 'one is read')
  expect(campaign.progress).toMatchObject({ sent: 1, delivered: 0, read: 1, failed: 1, delivered_total: 1 })
  expect(sumOf(campaign)).toBe(campaign.progress.total)

  const list = await service.request('GET', '/campaigns')
  expect(list.json().data).toMatchObject([{ id, progress: { delivered: 0, delivered_total: 1 } }])
  const { campaigns } = await createSnapshots(service.redis).take()
  expect(campaigns).toMatchObject([{ id, delivered: 0, delivered_total: 1 }])

  const exported = await service.request('GET', `/campaigns/${id}/export?format=ndjson`)
  const lines = exported.text.trimEnd().split('\n')
  expect(
    Object.fromEntries(
      lines.map((each) => {
        const { recipient, delivered } = lineSchema.parse(JSON.parse(each))
        return [recipient, delivered]
      }),
    ),
  ).toEqual({ [READ]: 'yes', [SILENT]: null, [REFUSED]: null })
  const csv = (await service.request('GET', `/campaigns/${id}/export`)).text
  expect(csv.split('\n')[0]).toMatch(/,delivered,/)
  expect(csv).toMatch(new RegExp(`^${READ},.*,yes,`, 'm'))
})
