// Pins: one account's campaigns do not hold up those of another, and a campaign that waits costs Redis next to nothing.
// Real: Redis, HTTP, producer, worker. Stood in for: the chat product.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { importContacts } from '../../src/contacts/store/contacts.ts'
import { createTag } from '../../src/contacts/store/tags.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { commandsOf, startManyOnPausedLane } from '../support/many-campaigns.ts'
import type { Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 60_000 })

/** More than a worker feeds at once. */
const MANY = Number(process.env.FAIR_CAMPAIGNS ?? 300)

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

  test("another account's campaign is checked and sent within 3 s each", async () => {
    const phone = '491529100001'
    const campaign = await otherCampaign(phone)
    const askedAt = performance.now()
    await campaign.ask('preflight')
    await campaign.reaches('ready')
    const startedAt = performance.now()
    await campaign.ask('start')
    await eventually(async () => (await service.ledger()).includes(phone), 'it is sent')
    const sentAt = performance.now()
    console.log(`checked ${Math.round(startedAt - askedAt)} ms, sent ${Math.round(sentAt - startedAt)} ms`)
    expect(startedAt - askedAt).toBeLessThan(3_000)
    expect(sentAt - startedAt).toBeLessThan(3_000)
    await campaign.reaches('done')
  })
})
