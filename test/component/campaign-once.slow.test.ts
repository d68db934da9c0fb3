// Pins: what creates a campaign creates it once per Idempotency-Key, however many ask at the same time and wherever the process
// dies; and asking for what is so already is no error. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { connectLaneway, type Laneway } from '../../packages/client/src/index.ts'
import { openIntakeQueue } from '../../packages/client/src/redis.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { campaignRecord, campaignsOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
let laneway: Laneway
beforeAll(async () => {
  service = await startCampaigns()
  laneway = await connectLaneway({ redisUrl: service.server.url, apiKey: service.tenant.apiKey })
})
afterAll(async () => {
  await laneway?.close()
  await service?.close()
})

const created = z.object({ data: z.object({ id: z.string(), state: z.string() }) })

async function post(path: string, body: object, key: string) {
  const { status, json } = await service.tenant.api.post(path, body, { 'idempotency-key': key })
  return { status, json, id: created.safeParse(json).data?.data.id }
}

const recordOf = (id: string) => {
  const parsed = parseCampaignId(id)
  if (!parsed) throw new Error(`no campaign id: ${id}`)
  return campaignRecord(service.redis, parsed)
}
const listed = () => campaignsOf(service.redis, service.tenant.account).all()

describe('a campaign over HTTP', () => {
  test('of 50 requests at once with one key is one draft', async () => {
    const before = await listed()
    const body = service.definition({ tags: [1] })
    const answers = await Promise.all(Array.from({ length: 50 }, () => post('/campaigns', body, 'spring')))
    expect(new Set(answers.map(({ status, id }) => `${status} ${id}`)).size).toBe(1)
    expect(answers[0]?.status).toBe(201)
    expect((await listed()).length).toBe(before.length + 1)
  })

  test('is another campaign without a key, with another key or for another account', async () => {
    const body = service.definition({ tags: [1] })
    const ids = [await service.create({ tags: [1] }), await service.create({ tags: [1] })]
    ids.push((await post('/campaigns', body, 'summer')).id ?? '', (await post('/campaigns', body, 'autumn')).id ?? '')
    expect(new Set(ids).size).toBe(4)
  })

  test('with another body under the same key is refused', async () => {
    await post('/campaigns', service.definition({ tags: [1] }), 'winter')
    const other = await post('/campaigns', service.definition({ tags: [2] }), 'winter')
    expect(other).toMatchObject({ status: 422, json: { error: { code: 'idempotency_key_reused' } } })
  })

  test('that was not made because the process died is made by the repeat, under the id reserved by the key', async () => {
    const body = service.definition({ tags: [1] })
    const { id = '' } = await post('/campaigns', body, 'crash 1')
    await recordOf(id).remove()
    await campaignsOf(service.redis, service.tenant.account).drop(id)
    expect(await post('/campaigns', body, 'crash 1')).toMatchObject({ status: 201, id })
    expect(await listed()).toContain(id)
  })

  test('is the same as one requested by a job with the same key', async () => {
    const body = { ...service.definition({}), recipients: { tags: [1] } }
    const { id } = await post('/campaigns', body, 'both ways')
    expect(await laneway.campaigns.create(body, { idempotencyKey: 'both ways' })).toBe(id)
  })

  test('of many jobs at once with one key is one draft', async () => {
    const before = await listed()
    const body = { ...service.definition({}), recipients: { tags: [1] } }
    const ids = await Promise.all(
      Array.from({ length: 30 }, () => laneway.campaigns.create(body, { idempotencyKey: 'many jobs' })),
    )
    expect(new Set(ids).size).toBe(1)
    expect((await listed()).length).toBe(before.length + 1)
  })
})

describe('a new run for a class', () => {
  test('of nobody is refused, and creates nothing', async () => {
    const { tag } = await service.addPeople(3)
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    await service.reaches(id, 'done')
    const before = await listed()
    const answer = await service.request('POST', `/campaigns/${id}/resume`, { class: 'failed' })
    expect([answer.status, answer.json().error.code]).toEqual([422, 'nobody_in_class'])
    expect(await listed()).toEqual(before)
  })

  test('is made once per key, also when the process died before the run began', async () => {
    await service.misbehave({ match: { wire: 'cloud' }, behaviour: 'invalid-parameter', count: 2 })
    const { tag } = await service.addPeople(2)
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    const done = await service.reaches(id, 'done')
    expect(done.progress.failed).toBe(2)
    const before = await listed()
    const resume = () => post(`/campaigns/${id}/resume`, { class: 'failed' }, 'once more')
    const answers = await Promise.all(Array.from({ length: 10 }, resume))
    expect(new Set(answers.map(({ id: run }) => run)).size).toBe(1)
    expect((await listed()).length).toBe(before.length + 1)
    const run = answers[0]?.id ?? ''
    await service.reaches(run, 'done')
    expect((await service.ledger()).length).toBeGreaterThan(0)
    expect((await resume()).json).toMatchObject({ data: { id: run, state: 'done' } })

    const second = await post(`/campaigns/${id}/resume`, { class: 'failed' }, 'another')
    await service.reaches(second.id ?? '', 'done')
    await recordOf(second.id ?? '').change({ state: 'draft' })
    await post(`/campaigns/${id}/resume`, { class: 'failed' }, 'another')
    await eventually(async () => (await service.show(second.id ?? '')).state !== 'draft', 'it was begun')
  })
})

test('a move to the state that the campaign already has changes nothing, over HTTP or by a job; an impossible one is refused', async () => {
  const { tag } = await service.addPeople(5)
  const id = await service.ready({ tags: [tag] })
  await recordOf(id).change({ state: 'running' })
  await service.move(id, 'pause', { reason: 'lunch' })
  expect(await service.move(id, 'pause', { reason: 'tea' })).toMatchObject({ state: 'paused', reason: 'lunch' })
  await laneway.campaigns.pause(id)
  await service.move(id, 'cancel')
  expect(await service.move(id, 'cancel')).toMatchObject({ state: 'cancelled' })
  for (const verb of ['start', 'pause', 'resume', 'preflight']) {
    const answer = await service.request('POST', `/campaigns/${id}/${verb}`)
    expect([verb, answer.status, answer.json().error.code]).toEqual([verb, 422, 'wrong_state'])
  }
  await expect(laneway.campaigns.pause(id)).rejects.toMatchObject({ code: 'wrong_state' })
})

test('folders and contact lists are created once per key', async () => {
  const headers = { 'x-requested-with': 'XMLHttpRequest', 'idempotency-key': 'once' }
  for (const [path, permission] of [
    ['/partners/wp-gallery/manage/folders', 'gallery'],
    ['/partners/broadcast/addnewcontacttag', 'contacts:write'],
  ] as const) {
    const api = await service.tenant.apiWith(permission)
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.post(path, { name: 'spring' }, headers)))
    const [first] = answers
    expect(first?.status).toBe(200)
    for (const { status, json } of answers) expect([status, json]).toEqual([first?.status, first?.json])
    expect((await api.post(path, { name: 'summer' }, headers)).status).toBe(422)
  }
  const other = await createFolder(service.redis, service.tenant.account, { name: 'spring' })
  expect(other.id).toBeGreaterThan(1)
})

describe('the list of campaigns', () => {
  test('is answered page by page even when it has drafts of 250 KB from an older version', async () => {
    const count = 60
    const junk = JSON.stringify(Array.from({ length: 80_000 }, () => ({})))
    for (let i = 0; i < count; i += 1) {
      const id = await service.create({ tags: [1] })
      const definition = service.definition({ tags: [1] })
      const text = JSON.stringify({ ...definition, template: { ...definition.template, components: [] } })
      await recordOf(id).change({ definition: text.replace('"components":[]', `"components":${junk}`) })
    }
    const page = async (query: string) => {
      const began = performance.now()
      const answer = await service.request('GET', `/campaigns?${query}`)
      expect(answer.status, answer.text).toBe(200)
      const ids: string[] = answer.json().data.map(({ id }: { id: string }) => id)
      return { ids, tookMs: performance.now() - began }
    }
    const all = await page('limit=1000')
    const few = [await page('limit=1'), await page('limit=1'), await page('limit=1')]
    expect(few.map(({ ids }) => ids)).toEqual(few.map(() => all.ids.slice(0, 1)))
    expect(Math.min(...few.map(({ tookMs }) => tookMs))).toBeLessThan(all.tookMs / 4)
    expect((await page('limit=7&cursor=5')).ids).toEqual(all.ids.slice(5, 12))
    expect((await page('limit=3&cursor=2&state=draft')).ids).toHaveLength(3)
    expect((await page('limit=1000&state=scheduled')).ids).toEqual([])
  })

  test('goes back ten thousand campaigns and no further', async () => {
    const answer = await service.request('GET', '/campaigns?cursor=9007199254740991')
    expect([answer.status, answer.json().error.details[0].path]).toEqual([400, 'cursor'])
  })
})

test('a campaign is stored as it was parsed: only known fields, in normalized spelling', async () => {
  const components = [{ type: 'body', parameters: [{ type: 'TEXT', text: { from: 'contact.name' } }] }]
  const template = { name: 'spring', language: { code: 'en_US' }, components }
  const id = await service.create({ tags: [1] }, { template })
  const stored = (await service.record(id))?.definition.template.components
  expect(stored).toEqual([{ type: 'BODY', parameters: [{ type: 'text', text: { from: 'contact.name' } }] }])
})

test('a job with an unknown field is refused, be it in its data, its message or its campaign', async () => {
  const queue = await openIntakeQueue(service.server.url)
  const message = { to: '+447700900123', recipient_type: 'individual', messaging_product: 'chatapp', type: 'audio' }
  const audio = { link: 'https://files.example/a.ogg' }
  const jobs = [
    ['send', { message: { ...message, audio: { ...audio, x: 1 } } }, 'audio.x'],
    ['send', { message: { ...message, audio }, idempotancy_key: 'a' }, 'idempotancy_key', 'idempotency_key'],
    ['campaign-create', { campaign: { ...service.definition({ tags: [1] }), x: 1 } }, 'x'],
    ['campaign-pause', { campaign_id: 'cmp_1_1', raeson: 'x' }, 'raeson', 'reason'],
  ] as const
  const added = jobs.map(([name, data], i) => ({
    id: `strict-${i}`,
    addedAtMs: Date.now(),
    name,
    data: { v: 1, api_key: service.tenant.apiKey, ...data },
  }))
  await queue.add([...added, { id: 'strict-v', addedAtMs: 1, name: 'status', data: { v: 9 } }])
  const ends = await eventually(async () => {
    const states = await queue.read([...added.map(({ id }) => id), 'strict-v'])
    return states.every(({ state }) => state === 'refused') && states
  }, 'all are refused')
  const details = ends.map((end) => (end.state === 'refused' ? end.refusal.details : []))
  const faultOf = (path: string, meant?: string) => ({
    path,
    message: meant === undefined ? 'unknown field' : `unknown field; is "${meant}" meant?`,
  })
  expect(details.slice(0, -1)).toEqual(jobs.map(([, , path, meant]) => [faultOf(path, meant)]))
  expect(details.at(-1)).toEqual([{ path: 'v', message: 'expected 1, got 9' }])
  await queue.close()
})
