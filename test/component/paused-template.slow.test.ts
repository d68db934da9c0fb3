// Pins: a template that WhatsApp pauses by webhook while its campaigns go at full pace: nothing of them leaves a second after the
// webhook was answered, or once the longer checks are over that a late worker has announced. Real: Redis, HTTP, producer, worker,
// the simulator and its ledger.
import { subscribe } from 'node:diagnostics_channel'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { setSenderProvider } from '../../src/accounts/senders.ts'
import { type CampaignService, startCampaigns, sumOf } from '../support/campaigns.ts'
import { checksValidMs } from '../support/state/checks.ts'
import { eventually } from '../support/wait.ts'
import { bringWebhook } from '../support/webhooks.ts'

const PACE = 500
const PEOPLE = 8_000

let service: CampaignService
beforeAll(async () => {
  service = await startCampaigns({ rate: PACE })
  await setSenderProvider(service.redis, service.lane, { wabaId: '4711' })
})
afterAll(() => service?.close())

async function bring(event: string): Promise<void> {
  const value = { message_template_name: 'spring', message_template_language: 'en_US', event }
  const changes = [{ field: 'message_template_status_update', value }]
  const atMs = Date.now()
  const bringOnce = async () => (await bringWebhook(service.url, changes, { waba: '4711', atMs })).status
  // Again, as WhatsApp does, while Redis seems to be away, which a machine that stands still makes it.
  await eventually(async () => (await bringOnce()) === 200, 'it is taken')
}

const requestSent = z.object({ request: z.object({ method: z.string(), path: z.string() }) })
/**
 * When each message was written to its connection. When the simulator reads it says nothing of the worker: on a machine that does other
 * things that is seconds later.
 */
const departures: number[] = []
subscribe('undici:client:sendHeaders', (message) => {
  const { request } = requestSent.parse(message)
  if (request.method === 'POST' && request.path.endsWith('/messages')) departures.push(Date.now())
})

test.each(['PAUSED', 'DISABLED'])('%s: two campaigns at full pace send nothing a second later', async (event) => {
  const { tag } = await service.addPeople(PEOPLE)
  const ids = [await service.ready({ tags: [tag] }), await service.ready({ tags: [tag] })]
  // Whatever this one finds, the next begins with the template as it was.
  onTestFinished(() => bring('APPROVED'))
  for (const id of ids) await service.move(id, 'start')
  const before = departures.length
  await eventually(async () => departures.length > before + PACE || undefined, 'both are at full pace', 30_000)
  await bring(event)
  const answeredAt = Date.now()
  for (const id of ids) {
    const { state, reason } = await service.show(id)
    expect([state, reason]).toEqual(['paused', expect.stringMatching(/^template_paused: /)])
  }
  // What is claimed leaves for as long as its check is valid: on a machine that is late the worker announces that this is longer.
  const validMs = await checksValidMs(service.redis)
  // Long enough for a whole window of both to leave, were it not kept back.
  const waitMs = validMs + 3_500
  await eventually(async () => Date.now() - answeredAt > waitMs || undefined, 'time passes')
  const late = departures.filter((atMs) => atMs > answeredAt + validMs + 500)
  expect(late.map((atMs) => atMs - answeredAt)).toEqual([])
  for (const id of ids) {
    const shown = await service.show(id)
    expect(sumOf(shown)).toBe(PEOPLE)
    expect(Number(shown.progress.queued)).toBeGreaterThan(1_000)
    await service.move(id, 'cancel')
  }
})
