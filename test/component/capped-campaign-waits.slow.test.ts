// Pins: a running campaign that waits only for people who have had enough marketing says so, until when, and how long that lasts, on HTTP
// and in the snapshot of the console; one that sends does not. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { addPlaces } from '../../src/lanes/places.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { cap, forgetCap } from '../../src/portfolios/caps.ts'
import { createSnapshots } from '../../src/telemetry/live/snapshots.ts'
import { graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { acknowledgedId, audioTo } from '../support/messages.ts'
import { eventually } from '../support/wait.ts'

const HOUR_MS = 3_600_000

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 10, env: { LANEWAY_CAP_SECONDS: '3600' } })
  service = world.service
})
beforeEach(() => world.reset())
afterAll(() => world?.close())

const show = async (id: string) => (await service.request('GET', `/campaigns/${id}`)).json().data
const inSnapshot = async (id: string) =>
  (await createSnapshots(service.redis).take()).campaigns.find((each) => each.id === id)

/** A campaign to people of whom those at these places have had enough, the one at the next place an hour longer each. */
async function started(people: number, capped: readonly number[], more: object = {}) {
  const { redis, lane } = service
  const { tag, phones } = await service.addPeople(people)
  const untils: number[] = []
  for (const [i, place] of capped.entries()) {
    untils.push(await cap(redis, { lane }, phones[place] ?? '', { forMs: (i + 1) * HOUR_MS }))
  }
  const id = await service.ready({ tags: [tag] }, more)
  await service.move(id, 'start')
  return { id, phones, untils }
}

/** The campaign once it waits. */
const waiting = (id: string) =>
  eventually(async () => {
    const now = await show(id)
    return now.waits === null ? undefined : now
  }, 'it waits')

test.each([
  ['first in its list', [0, 1, 2]],
  ['last in its list', [2, 3, 4]],
])('a campaign waits for capped people, %s, once the others have their message', async (_where, capped) => {
  const { id, untils } = await started(5, capped)
  const now = await waiting(id)
  const [first = 0, , last = 0] = untils
  const until = new Date(first).toISOString()
  expect(now).toMatchObject({ state: 'running', waits: { why: 'person_capped', until } })
  expect(now.waits.sentence).toContain(until)
  expect(now.progress).toMatchObject({ queued: 3, sending: 0 })
  // Until the last of them may be written to.
  expect(now.progress.seconds_left).toBeGreaterThan((last - Date.now()) / 1_000)
  expect(now.progress.seconds_left).toBeLessThan((last - Date.now()) / 1_000 + 60)
  const shown = await inSnapshot(id)
  expect(shown?.waits).toEqual(now.waits)
  expect(shown?.eta_s).toBeGreaterThan((last - Date.now()) / 1_000)
  await service.move(id, 'cancel')
})

test('messages that others scheduled on the lane do not change why a campaign waits, a waiting place of its own does', async () => {
  const { redis, lane, sender, tenant } = service
  const send_at = new Date(Date.now() + HOUR_MS / 2).toISOString()
  for (let i = 0; i < 20; i += 1) {
    const message = audioTo(`49152990${10_000 + i}`, { api_key: tenant.apiKey, sender, send_at })
    acknowledgedId(await service.post('/sendservicemessages/sendmessages', message))
  }
  const { id, untils } = await started(2, [1])
  const other = await started(2, [0])
  const until = new Date(untils[0] ?? 0).toISOString()
  for (const each of [id, other.id]) await waiting(each)
  await service.stopWorker()
  await addPlaces(redis, { lane, number: parseCampaignId(other.id)?.number ?? 0 }, [{ from: 1, count: 1 }])
  expect((await show(id)).waits).toMatchObject({ why: 'person_capped', until })
  expect((await show(other.id)).waits).toBeNull()
  expect((await inSnapshot(other.id))?.waits).toBeNull()
  await service.startWorker()
  for (const each of [id, other.id]) await service.move(each, 'cancel')
})

test('a campaign whose message is delayed for another reason does not wait for a capped person', async () => {
  const { redis, lane } = service
  const { id, phones } = await started(1, [0])
  await waiting(id)
  await forgetCap(redis, { lane }, phones)
  expect((await show(id)).waits).toBeNull()
  await service.move(id, 'cancel')
})

test('a campaign that retries capped people waits for them as well', async () => {
  const { tag } = await service.addPeople(1)
  world.product.state.answer = () => graphError(400, 131049)
  const id = await service.ready({ tags: [tag] }, { retry_capped: { times: 1 } })
  await service.move(id, 'start')
  expect((await waiting(id)).waits.why).toBe('person_capped')
  await service.move(id, 'cancel')
})
