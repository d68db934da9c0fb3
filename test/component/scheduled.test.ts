// Pins GET /scheduled: what is to leave later, messages and campaigns in one list, the next first.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startCampaign } from '../../src/campaigns/commands/moves.ts'
import { openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { DAY_MS, HOUR_MS } from '../../src/kernel/time-units.ts'
import { positionAt } from '../../src/lanes/delayed-jobs.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { campaignId, parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { findCampaign } from '../../src/recipients/campaigns.ts'
import type { Api } from '../support/api.ts'
import { errorOf } from '../support/api-error.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runCli } from '../support/cli.ts'
import type { Tenant } from '../support/service.ts'

let service: CampaignService
let tenant: Tenant
let other: Tenant
beforeAll(async () => {
  service = await startCampaigns()
  tenant = service.tenant
  other = await service.addTenant()
})
afterAll(() => service?.close())

const NOW = Date.now()
const inHours = (hours: number): string => new Date(NOW + hours * HOUR_MS).toISOString()

const entrySchema = z.object({
  kind: z.enum(['message', 'campaign']),
  at: z.string(),
  message: z.object({ id: z.string(), send_at: z.string() }).optional(),
  campaign: z.object({ id: z.string(), scheduled_at: z.string() }).optional(),
})
const pageSchema = z.object({ data: z.array(entrySchema), next: z.string().nullable() })

async function page(query: Record<string, string> = {}, api: Api = tenant.api) {
  const answer = await api.get(`/scheduled?${new URLSearchParams(query)}`)
  expect(answer.status, answer.text).toBe(200)
  return pageSchema.parse(answer.json)
}

const idsOf = ({ data }: Awaited<ReturnType<typeof page>>) => data.map((each) => each.message?.id ?? each.campaign?.id)

async function sendAt(send_at: string, sender = tenant.partnerNumber, api = tenant.api): Promise<string> {
  const answer = await api.post('/messages', {
    ...{ to: '+491700000001', type: 'text', text: { body: 'Tomorrow' } },
    ...{ sender, send_at },
  })
  expect(answer.status, answer.text).toBe(202)
  return z.object({ data: z.object({ id: z.string() }) }).parse(answer.json).data.id
}

async function scheduled(at: string): Promise<string> {
  const { tag } = await service.addPeople(1)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'schedule', { at })
  return id
}

test('messages and campaigns are in one list, the next first, each with when it is to leave', async () => {
  const later = await sendAt(inHours(30))
  const first = await sendAt(inHours(2), tenant.cloudNumber)
  const campaign = await scheduled(inHours(10))
  // It leaves at once, and is nobody's plan.
  await tenant.api.post('/messages', { to: '+491700000001', type: 'text', text: { body: 'Now' } })
  const shown = await page()
  expect(idsOf(shown)).toEqual([first, campaign, later])
  expect(shown.data.map(({ at }) => at)).toEqual([inHours(2), inHours(10), inHours(30)])
  expect(shown.data[0]?.message?.send_at).toBe(inHours(2))
  expect(shown.data[1]?.campaign?.scheduled_at).toBe(inHours(10))
  expect(shown.next).toBeNull()

  expect(idsOf(await page({ until: inHours(24) })), 'until tomorrow').toEqual([first, campaign])
  expect(idsOf(await page({ since: inHours(10), until: inHours(30) })), 'since is part of it, until is not').toEqual([
    campaign,
  ])
  expect(idsOf(await page({ sender: tenant.partnerNumber })), 'of one sender').toEqual([later])

  const cli = (...words: string[]) => runCli(['messages', 'scheduled', ...words], service.settings)
  const account = ['--account', String(tenant.account)]
  const typed = await cli(...account, '--until', inHours(24), '--json')
  expect(pageSchema.shape.data.parse(documentIn(typed.stdout)).map(({ at }) => at)).toEqual([inHours(2), inHours(10)])
  expect((await cli(...account)).stdout).toMatch(new RegExp(`${first}.*\n.*${campaign} .* 1 person .*\n.*${later}`))
  expect((await cli(...account, '--sender', 'nobody')).code).toBe(1)

  await tenant.api.post(`/messages/${first}/cancel`)
  await service.move(campaign, 'cancel')
  expect(idsOf(await page()), 'what was cancelled is gone').toEqual([later])
})

describe('pages', () => {
  test('follow each other without a gap or a repeat, also where many leave in the same millisecond', async () => {
    const many = await service.addTenant()
    const at = inHours(3)
    const ids: string[] = []
    for (let i = 0; i < 12; i += 1) {
      ids.push(await sendAt(at, i % 2 === 0 ? many.partnerNumber : many.cloudNumber, many.api))
    }
    const found: (string | undefined)[] = []
    let cursor: string | null | undefined
    do {
      const shown = await page({ limit: '5', ...(cursor && { cursor }) }, many.api)
      found.push(...idsOf(shown))
      cursor = shown.next
    } while (cursor !== null)
    expect(found.toSorted()).toEqual(ids.toSorted())
  })

  test('read no more than they show of thousands that leave in one millisecond, and go on where a job has gone', async () => {
    const own = await service.addTenant()
    const sendAt = NOW + 3 * HOUR_MS
    const content = { type: 'text', text: { body: 'At nine' } } as const
    const until = sendAt + HOUR_MS
    const payload = { v: 1, to: '491700000001', class: 'transactional', content, until, sendAt } as const
    const ids = Array.from({ length: 5_000 }, () => messageId(own.partnerLane, newUlid(NOW)))
    const queues = openLaneQueues(service.redis)
    for (let at = 0; at < ids.length; at += 500) {
      await queues.addMany(ids.slice(at, at + 500).map((id) => ({ id, payload })))
    }
    await queues.close()
    // All of the last thousand have one score.
    const found: (string | undefined)[] = []
    let shown = await page({ limit: '990' }, own.api)
    found.push(...idsOf(shown))
    while (shown.next !== null) {
      await own.api.post(`/messages/${found.at(-1)}/cancel`)
      shown = await page({ limit: '990', cursor: shown.next }, own.api)
      found.push(...idsOf(shown))
    }
    expect(found).toHaveLength(ids.length)
    expect(found.toSorted()).toEqual(ids.toSorted())

    const cursor = `${positionAt(sendAt).score + 4_095}.${found.at(-20)}`
    const outBytes = async () => Number(/total_net_output_bytes:(\d+)/.exec(await service.redis.info('stats'))?.[1])
    const before = await outBytes()
    expect((await page({ limit: '5', cursor }, own.api)).data.length).toBeGreaterThan(0)
    expect((await outBytes()) - before).toBeLessThan(50_000)
  })

  test('pass over what waits to be tried again', async () => {
    const own = await service.addTenant()
    const planned = await sendAt(inHours(4), own.partnerNumber, own.api)
    const retried = messageId(own.partnerLane, newUlid(NOW))
    const content = { type: 'text', text: { body: 'Again' } } as const
    const payload = { v: 1, to: '491700000001', class: 'transactional', content, until: NOW + DAY_MS } as const
    const queues = openLaneQueues(service.redis)
    await queues.add(retried, payload, HOUR_MS)
    await queues.close()
    expect((await own.api.get(`/messages/${retried}`)).json).toMatchObject({ data: { state: 'queued' } })
    expect(idsOf(await page({}, own.api))).toEqual([planned])
    expect(await page({ limit: '1' }, own.api), 'a short page has a cursor').toMatchObject({
      data: [],
      next: expect.any(String),
    })
  })

  test('are refused for a cursor that no page had, a time without a zone and a sender that is not there', async () => {
    for (const [query, code] of [
      [{ cursor: 'x' }, 'invalid_request'],
      [{ until: '2030-01-01' }, 'invalid_request'],
      [{ sender: 'nobody' }, 'unknown_sender'],
      [{ sender: tenant.cloudNumber, till: inHours(1) }, 'invalid_request'],
    ] as const) {
      const answer = await tenant.api.get(`/scheduled?${new URLSearchParams(query)}`)
      expect([answer.status, errorOf(answer).code], JSON.stringify(query)).toEqual([400, code])
    }
  })
})

test('a start that was due leaves a campaign alone for which another time was chosen meanwhile', async () => {
  const id = parseCampaignId(await scheduled(inHours(7)))
  const seen = id && (await findCampaign(service.redis, id))
  if (!id || !seen) throw new Error('no campaign')
  await service.move(campaignId(id), 'schedule', { at: inHours(8) })
  const queue = openCampaignQueue(service.redis)
  const starting = startCampaign({ redis: service.redis, queue, retentionMs: DAY_MS }, seen, seen.scheduled_at)
  await expect(starting).rejects.toMatchObject({ code: 'wrong_state' })
  await queue.close()
  expect(await findCampaign(service.redis, id)).toMatchObject({ state: 'scheduled', scheduled_at: NOW + 8 * HOUR_MS })
})

test('another account sees nothing of it', async () => {
  await sendAt(inHours(6))
  expect(await page({}, other.api)).toEqual({ data: [], next: null })
  const foreign = await other.api.get(`/scheduled?sender=${tenant.cloudNumber}`)
  expect([foreign.status, errorOf(foreign).code]).toEqual([400, 'unknown_sender'])
})

test.each([
  ['+1h', '+400h', true],
  ['1h', '2126-11-27T00:00:00+02:00', true],
  ['+400h', '2126-11-27T00:00:00Z', false],
])('times in a query are read as people write them: from %s until %s', async (since, until, isThere) => {
  const id = await sendAt(inHours(60))
  const ids = idsOf(await page({ since, until, limit: '1000' }))
  expect(ids.includes(id)).toBe(isThere)
})

test.each(['soon', '2026-01-31', 'yesterday', '9'])('the time %j is refused with what is expected', async (since) => {
  const answer = await tenant.api.get(`/scheduled?since=${since}`)
  expect(answer.status).toBe(400)
  expect(errorOf(answer).message).toContain(`since: expected a time with its zone such as 2026-01-31T12:00:00Z`)
})
