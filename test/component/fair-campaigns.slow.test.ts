// Pins: one account's campaigns do not hold up those of another, and a campaign that waits costs Redis next to nothing.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { slowness } from '../support/machine.ts'
import { commandsOf, startManyOnPausedLane } from '../support/many-campaigns.ts'
import type { Tenant } from '../support/service.ts'
import { activeCampaignsOn, parkedCampaignsOn } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

/** More than a worker feeds at once. */
const MANY = Number(process.env.FAIR_CAMPAIGNS ?? 260)

/** 3 s on a machine that does nothing else. It was half a minute: as long as a fan-out held a hand without work. */
const LIMIT_MS = 10_000

let service: CampaignService
let other: Tenant

beforeAll(async () => {
  service = await startCampaigns()
  other = await service.addTenant({ defaultProvider: 'cloud-api', rate: 100_000 })
})
afterAll(() => service?.close())

const stateOf = z.object({ data: z.object({ id: z.string(), state: z.string() }) })

/** A campaign of the other account to one person. */
async function otherCampaign(phone: string) {
  const { id: tag } = await createTag(service.redis, other.account, `of ${phone}`)
  await importContacts(service.redis, other.account, tag, [{ phone, name: 'P', email: '' }])
  const ask = async (method: string, path: string, body?: object) => {
    const answer = await service.request(method, path, body, other.apiKey)
    expect(answer.status, answer.text).toBeLessThan(300)
    return stateOf.parse(answer.json()).data
  }
  const definition = service.definition({ tags: [tag] }, { sender: other.cloudNumber })
  const { id } = await ask('POST', '/campaigns', definition)
  const reaches = (state: string) =>
    eventually(async () => (await ask('GET', `/campaigns/${id}`)).state === state, `${id} becomes ${state}`)
  return { ask: (verb: string) => ask('POST', `/campaigns/${id}/${verb}`), reaches }
}

describe('while one account has more running campaigns than a worker feeds at once, on a paused lane', () => {
  beforeAll(() => startManyOnPausedLane(service, MANY))

  test("another account's campaign is checked and sent within seconds", async () => {
    const phone = '491529100001'
    const campaign = await otherCampaign(phone)
    const askedAt = performance.now()
    await campaign.ask('preflight')
    await campaign.reaches('ready')
    const startedAt = performance.now()
    await campaign.ask('start')
    await eventually(async () => (await service.ledger()).includes(phone), 'it is sent')
    const sentAt = performance.now()
    if (process.env.FAIR_CAMPAIGNS) console.log({ checkedMs: startedAt - askedAt, sentMs: sentAt - startedAt })
    const limitMs = LIMIT_MS * (await slowness())
    expect(startedAt - askedAt).toBeLessThan(limitMs)
    expect(sentAt - startedAt).toBeLessThan(limitMs)
    await campaign.reaches('done')
  })

  test('campaigns that wait are parked, and cost Redis next to nothing', async () => {
    const { redis, lane } = service
    await eventually(
      async () => {
        const parked = Object.values(await parkedCampaignsOn(redis, lane).fields())
        // A few are always being looked at.
        return parked.filter((mark) => mark.endsWith(' idle')).length > 0.9 * MANY
      },
      'they are parked',
      60_000,
    )
    let since = { atMs: performance.now(), scripts: await scripts(redis) }
    const perSecond = async () => {
      const now = { atMs: performance.now(), scripts: await scripts(redis) }
      const seconds = (now.atMs - since.atMs) / 1_000
      if (seconds < 1) return Number.POSITIVE_INFINITY
      const rate = (now.scripts - since.scripts) / seconds
      since = now
      return rate
    }
    // Each ran more than 14 a second when it waited with a hand of a worker.
    await eventually(async () => (await perSecond()) < 2 * MANY, 'they run fewer than 2 scripts a second each', 30_000)
  })

  test('the figures of the waiting campaigns stay true', async () => {
    const some = await service.show(`cmp_${service.lane}_1000000`)
    expect(some.progress).toMatchObject({ total: 1, queued: 1, sent: 0 })
    await eventually(
      async () => (await service.show(some.id)).progress.rate_per_second === 0,
      'nothing is sent a second',
    )
  })

  test('the waiting campaigns go on as soon as their messages move', async () => {
    const queues = openLaneQueues(service.redis)
    await queues.resume(service.lane)
    await queues.close()
    const awake = () => activeCampaignsOn(service.redis, service.lane).count()
    await eventually(async () => (await awake()) === 0, 'all are done', 30_000)
    expect(await parkedCampaignsOn(service.redis, service.lane).isThere()).toBe(false)
  })
})

/** Scripts that were run so far. */
const scripts = async (redis: CampaignService['redis']): Promise<number> =>
  (await commandsOf(redis)).get('evalsha') ?? 0
