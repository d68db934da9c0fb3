// Pins: what a running campaign does when things go wrong or others share its lane.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { setSenderRate } from '../../src/accounts/senders.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { countPlaces } from '../../src/lanes/places.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { takeOver } from '../../src/recipients/campaign-heartbeat.ts'
import { type CampaignService, SPRING, startCampaigns, sumOf } from '../support/campaigns.ts'
import { ownAct } from '../support/own-acts.ts'
import { requeueAll } from '../support/requeue.ts'
import { losePlaces } from '../support/state/lanes.ts'
import { campaignRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService

beforeAll(async () => {
  service = await startCampaigns({ env: { LANEWAY_UNCONFIRMED_WAIT_SECONDS: '1' } })
})
afterEach(async () => {
  await service.misbehave({ clear: true, throughput: null })
  await rate(FULL_RATE)
})
afterAll(() => service?.close())

const FULL_RATE = 100_000

/** A lower rate is in force at once: a worker learns of another one within 2 s, in which it could send to all of them. */
async function rate(perSecond: number): Promise<void> {
  await setSenderRate(service.redis, service.lane, perSecond)
  if (perSecond >= FULL_RATE) return
  await service.stopWorker()
  await service.startWorker()
}

/** What WhatsApp got since. */
async function sentSince(before: number): Promise<string[]> {
  return (await service.ledger()).slice(before)
}

const nothingInFlight = (id: string) =>
  eventually(async () => {
    const { sending, unconfirmed } = (await service.show(id)).progress
    return sending === 0 && unconfirmed === 0
  }, 'nothing is in flight')

/** Cancels it, and waits for what is on its way: the next test would find it in WhatsApp's ledger. */
async function cancel(id: string): Promise<void> {
  await service.move(id, 'cancel')
  await nothingInFlight(id)
}

const idOf = (name: string) => {
  const id = parseCampaignId(name)
  if (!id) throw new Error(name)
  return id
}
const recordOf = (name: string) => campaignRecord(service.redis, idOf(name))

describe('nobody is sent to twice and nobody is forgotten', () => {
  test('when the fan-out starts again in the middle of the list', async () => {
    await rate(25)
    const { tag, phones } = await service.addPeople(150)
    const before = (await service.ledger()).length
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    for (const at of [25, 60, 100]) {
      await eventually(
        async () => ((await service.show(id)).progress.queued as number) <= 150 - at,
        'some are taken up',
      )
      await recordOf(id).change({ next: 0 })
    }
    await rate(FULL_RATE)
    await service.reaches(id, 'done')
    expect((await sentSince(before)).sort()).toEqual([...phones].sort())
  })

  test('when a second fan-out works at the same time', async () => {
    await rate(25)
    // More than a window of four seconds, so that fan-outs also overlap in the middle of the list.
    const { tag, phones } = await service.addPeople(150)
    const before = (await service.ledger()).length
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    // Each of them is taken for dead although it is at work.
    const queue = openCampaignQueue(service.redis)
    await eventually(async () => {
      const taken = await takeOver(service.redis, idOf(id), 0)
      if (taken.kind === 'taken') await queue.add('fan-out', idOf(id), taken.epoch)
      return (await service.show(id)).state === 'done'
    }, 'it is done')
    await queue.close()
    expect((await service.record(id))?.epoch).toBeGreaterThan(3)
    expect((await sentSince(before)).sort()).toEqual([...phones].sort())
  })

  test('when the places waiting on the lane are lost', async () => {
    // Slow enough that most still wait when it is looked, however late.
    await rate(50)
    const { tag, phones } = await service.addPeople(400)
    const before = (await service.ledger()).length
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    await eventually(async () => (await sentSince(before)).length > 50, 'some are sent')
    expect(await losePlaces(service.redis, service.lane)).toBeGreaterThan(1)
    // All at once they would be too much for a busy machine, and time out.
    await rate(200)
    await service.reaches(id, 'done')
    expect((await sentSince(before)).sort()).toEqual([...phones].sort())
  })
})

describe('on a shared lane', () => {
  test('a campaign that starts later is sent evenly with the first, not after it', async () => {
    await rate(50)
    const [a, b] = [await service.addPeople(500), await service.addPeople(250)]
    const [first, second] = [await service.ready({ tags: [a.tag] }), await service.ready({ tags: [b.tag] })]
    const before = (await service.ledger()).length
    await service.move(first, 'start')
    await eventually(async () => (await sentSince(before)).length > 20, 'the first one is under way')
    await service.move(second, 'start')
    const ofB = new Set(b.phones)
    // They take turns, message by message. Where the machine is so late that one of them runs dry for a moment, the other is sent alone.
    const together = await eventually(
      async () => {
        const sent = await sentSince(before)
        const from = sent.findIndex((phone) => ofB.has(phone))
        return from !== -1 && sent.length >= from + 200 ? sent.slice(from, from + 200) : undefined
      },
      'both are under way',
      60_000,
    )
    await rate(FULL_RATE)
    const share = together.filter((phone) => ofB.has(phone)).length / together.length
    expect(share).toBeGreaterThan(0.35)
    expect(share).toBeLessThan(0.65)
    for (const id of [first, second]) await service.reaches(id, 'done')
    expect((await sentSince(before)).sort()).toEqual([...a.phones, ...b.phones].sort())
  })

  test('a transactional message overtakes all waiting campaign messages', async () => {
    await rate(40)
    const { tag } = await service.addPeople(400)
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    await eventually(async () => (await countPlaces(service.redis, service.lane)) > 60, 'the lane is full')
    const to = '491529999999'
    const answer = await service.post('/sendservicemessages/sendmessages', {
      api_key: service.tenant.apiKey,
      messaging_product: 'chatapp',
      recipient_type: 'individual',
      to: `+${to}`,
      type: 'image',
      image: { link: 'https://example.com/a.jpg' },
    })
    expect(answer.status).toBe(200)
    // It may have been sent by now.
    const before = (await service.ledger()).length
    const overtaken = await eventually(async () => {
      const place = (await service.ledger()).indexOf(to)
      return place === -1 ? undefined : place + 1 - before
    }, 'it is sent')
    // Those in flight, and a window or two of the lane's pace: 4 messages each.
    expect(overtaken).toBeLessThan(60)
    await cancel(id)
  })
})

describe('a campaign slows down or pauses by itself', () => {
  test('when WhatsApp has paused its template', async () => {
    await rate(50)
    const { tag } = await service.addPeople(300)
    const id = await service.ready({ tags: [tag] })
    await service.misbehave({ match: { wire: 'cloud' }, behaviour: 'template-paused', count: 3 })
    await service.move(id, 'start')
    const { reason, progress } = await service.reaches(id, 'paused')
    expect(reason).toBe(
      'template_paused: WhatsApp refuses its template: the template is paused for low quality (code 132015).',
    )
    expect(progress.queued).toBeGreaterThan(100)
    // WhatsApp lets the template go again; an answer that is still on its way would pause the campaign anew.
    await service.misbehave({ clear: true })
    await nothingInFlight(id)
    await service.move(id, 'resume')
    await rate(FULL_RATE)
    expect((await service.reaches(id, 'done')).progress.failed).toBe(0)
  })

  test('when too many of its latest messages fail, and a person may resume it', async () => {
    await rate(50)
    const { tag } = await service.addPeople(400)
    const id = await service.ready({ tags: [tag] })
    await service.misbehave({ match: { every: 2 }, behaviour: 'invalid-parameter' })
    await service.move(id, 'start')
    const { reason, progress } = await service.reaches(id, 'paused')
    expect(reason).toMatch(
      /^\d+ of the last 1\d\d messages failed or are unproven, more than 30 %\. Most often: a parameter is not valid \(code 100\)\.$/,
    )
    const act = await ownAct(service.redis, 'campaign.pause', id)
    expect(act).toMatchObject({ account: service.tenant.account, detail: reason })
    expect(progress.queued).toBeGreaterThan(100)
    await service.misbehave({ clear: true })
    await nothingInFlight(id)
    await service.move(id, 'resume')
    await rate(FULL_RATE)
    const done = await service.reaches(id, 'done')
    expect(done.progress.queued).toBe(0)
    expect(sumOf(done)).toBe(400)
  })

  test('when its template is imported as paused, and it cannot resume before that is fixed', async () => {
    await rate(50)
    const { redis, tenant } = service
    const importAs = (status: string) =>
      importTemplate(redis, tenant.account, templateSchema.parse({ ...SPRING, status }))
    const { tag } = await service.addPeople(300)
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    await eventually(async () => Number((await service.show(id)).progress.queued) < 290, 'it is under way')
    await importAs('PAUSED')
    const { reason } = await service.reaches(id, 'paused')
    expect(reason).toBe('template_paused: The template spring is PAUSED, not APPROVED.')
    const refused = await service.request('POST', `/campaigns/${id}/resume`)
    expect([refused.status, refused.json().error.code]).toEqual([400, 'template_not_approved'])
    await importAs('APPROVED')
    await service.move(id, 'resume')
    await rate(FULL_RATE)
    expect(sumOf(await service.reaches(id, 'done'))).toBe(300)
  })

  test('when WhatsApp leaves too many unproven', async () => {
    await rate(100)
    const { tag } = await service.addPeople(600)
    const id = await service.ready({ tags: [tag] })
    await service.misbehave({ match: { every: 2 }, behaviour: 'plain-500' })
    await service.move(id, 'start')
    const { reason, progress } = await service.reaches(id, 'paused')
    expect(reason).toMatch(
      /^\d+ of the last \d+ messages failed or are unproven, more than 30 %\. Most often: no code of WhatsApp \(http_500\)\.$/,
    )
    expect(progress).toMatchObject({ failed: 0 })
    await cancel(id)
  })

  test('to the pace that WhatsApp accepts, and no recipient is lost', async () => {
    await rate(1_000)
    const { tag, phones } = await service.addPeople(250)
    const before = (await service.ledger()).length
    const id = await service.ready({ tags: [tag] })
    // Slower than any machine that runs this would send: otherwise nothing is held back.
    await service.misbehave({ throughput: 10 })
    await service.move(id, 'start')
    await eventually(async () => Number((await service.show(id)).progress.held_to) > 0, 'it is held back')
    await service.misbehave({ throughput: null })
    await service.reaches(id, 'done')
    expect((await sentSince(before)).sort()).toEqual([...phones].sort())
  })
})

describe('a class of recipients is resumed as a new run', () => {
  const run = async (id: string, resumed: 'failed' | 'unknown' | 'not_delivered') => {
    const { id: second } = await service.move(id, 'resume', { class: resumed })
    expect(second).not.toBe(id)
    return service.reaches(second, 'done')
  }

  test('with the same values: those that failed', async () => {
    const { tag, phones } = await service.addPeople(30)
    for (const to of phones.slice(10, 12)) {
      await service.misbehave({ match: { to }, behaviour: 'invalid-parameter', count: 1 })
    }
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    expect((await service.reaches(id, 'done')).progress).toMatchObject({ failed: 2 })
    const before = (await service.ledger()).length
    const second = await run(id, 'failed')
    expect(second.progress).toMatchObject({ total: 2, failed: 0 })
    expect((await sentSince(before)).sort()).toEqual(phones.slice(10, 12))
    const line =
      (await service.request('GET', `/campaigns/${second.id}/export?format=ndjson`)).text.split('\n')[0] ?? ''
    const { message_id, possible_duplicate } = JSON.parse(line)
    expect(possible_duplicate).toBeNull()
    const info = await service.post('/chatappbusiness/fetchmessageinfo', { api_key: service.tenant.apiKey, message_id })
    expect(info.body).toHaveProperty('message.data.message_text', 'Dear P10, spring is here.')
  })

  test('flagged as possible duplicates: those that are unknown, and those sent and never delivered', async () => {
    const { tag, phones } = await service.addPeople(10)
    await service.misbehave({ match: { to: phones[1] }, behaviour: 'reset-before-accepting', count: 1 })
    await service.misbehave({ match: { to: phones[2] }, behaviour: 'no-webhooks', count: 1 })
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    await service.reaches(id, 'done')
    await eventually(async () => (await service.show(id)).progress.read === 8, 'eight are read')
    expect((await service.show(id)).progress).toMatchObject({ unknown: 1, sent: 1 })
    for (const [resumed, place] of [
      ['unknown', 1],
      ['not_delivered', 2],
    ] as const) {
      const second = await run(id, resumed)
      const { text } = await service.request('GET', `/campaigns/${second.id}/export?format=ndjson`)
      expect(JSON.parse(text)).toMatchObject({ recipient: phones[place], possible_duplicate: 'yes' })
    }
  })

  test('without a message whose repeat in doubt failed: its first attempt may have been sent', async () => {
    const { tag, phones } = await service.addPeople(10)
    await service.misbehave({ match: { to: phones[1] }, behaviour: 'reset-before-accepting', count: 1 })
    await service.misbehave({ match: { to: phones[2] }, behaviour: 'invalid-parameter', count: 1 })
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    expect((await service.reaches(id, 'done')).progress).toMatchObject({ unknown: 1, failed: 1 })
    await service.misbehave({ match: { to: phones[1] }, behaviour: 'invalid-parameter', count: 1 })
    expect(await requeueAll(service, service.tenant, { campaign: id, state: 'unknown' })).toMatchObject({ requeued: 1 })
    await eventually(async () => (await service.show(id)).progress.unknown === 1, 'the repeat has failed')
    expect((await service.show(id)).progress).toMatchObject({ unknown: 1, failed: 1, queued: 0 })
    const before = (await service.ledger()).length
    expect((await run(id, 'failed')).progress).toMatchObject({ total: 1 })
    expect(await sentSince(before)).toEqual([phones[2]])
  })

  test('but not from a campaign that still runs', async () => {
    await rate(50)
    const { tag } = await service.addPeople(200)
    const id = await service.ready({ tags: [tag] })
    await service.move(id, 'start')
    const answer = await service.request('POST', `/campaigns/${id}/resume`, { class: 'failed' })
    expect({ status: answer.status, code: answer.json().error.code }).toEqual({ status: 422, code: 'wrong_state' })
    await cancel(id)
  })
})

test('a scheduled campaign starts at its time, also when no worker was running then', async () => {
  const { tag, phones } = await service.addPeople(20)
  const before = (await service.ledger()).length
  const id = await service.ready({ tags: [tag] })
  await service.stopWorker()
  await service.move(id, 'schedule', { at: new Date(Date.now() + 3_600_000).toISOString() })
  // As if the hour were over.
  await recordOf(id).change({ scheduled_at: Date.now() })
  expect(await service.show(id)).toMatchObject({ state: 'scheduled' })
  expect(await sentSince(before)).toEqual([])
  await service.startWorker()
  await service.reaches(id, 'done')
  expect((await sentSince(before)).sort()).toEqual(phones)
})

test('recipients whose validity is over count as expired, and are sent nothing', async () => {
  await rate(50)
  const { tag } = await service.addPeople(300)
  const before = (await service.ledger()).length
  const validFor = (ms: number) => ({ valid_until: new Date(Date.now() + ms).toISOString() })
  const id = await service.ready({ tags: [tag] }, validFor(3_600_000))
  // Shorter only now: on a slow machine it would be over before the campaign was ready.
  const { definition = '{}' } = await recordOf(id).fields()
  await recordOf(id).change({ definition: JSON.stringify({ ...JSON.parse(definition), ...validFor(1_500) }) })
  await service.move(id, 'start')
  await eventually(async () => Number((await service.show(id)).progress.expired) > 0, 'the first one expires')
  await rate(FULL_RATE)
  const done = await service.reaches(id, 'done')
  expect(done.progress.expired).toBe(300 - (await sentSince(before)).length)
})

test('a failed message can be requeued by hand after the campaign is done, and the figures follow', async () => {
  const { tag, phones } = await service.addPeople(5)
  await service.misbehave({ match: { to: phones[3] }, behaviour: 'invalid-parameter', count: 1 })
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  expect((await service.reaches(id, 'done')).progress).toMatchObject({ failed: 1 })
  await requeueAll(service, service.tenant, { campaign: id, state: 'failed' })
  await eventually(async () => (await service.show(id)).progress.read === 5, 'all are read')
  expect((await service.show(id)).progress).toMatchObject({ failed: 0, queued: 0, total: 5 })
})

test('a message that failed after it was sent is sent again with the values of its recipient', async () => {
  const { tag, phones } = await service.addPeople(3)
  await service.misbehave({ match: { to: phones[1] }, behaviour: 'media-failed', count: 1 })
  const before = (await service.ledger()).length
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  await eventually(async () => (await service.show(id)).progress.failed === 1, 'one has failed')
  const done = await requeueAll(service, service.tenant, { campaign: id })
  expect(done).toMatchObject({ matched: 1, requeued: 1, without_content: 0 })
  await eventually(async () => (await service.show(id)).progress.read === 3, 'all are read')
  const lines = (await service.ledger()).slice(before).filter((to) => to === phones[1])
  expect(lines).toHaveLength(2)
})

test('those whom a cancelled campaign never reached get one unflagged message from a new run for the class cancelled', async () => {
  const { tag, phones } = await service.addPeople(120)
  await rate(5)
  const before = (await service.ledger()).length
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await service.ledger()).length > before, 'some are sent')
  await cancel(id)
  const first = (await service.ledger()).slice(before)
  expect((await service.show(id)).progress).toMatchObject({ cancelled: phones.length - first.length })
  await rate(FULL_RATE)
  const { id: second } = await service.move(id, 'resume', { class: 'cancelled' })
  await service.reaches(second, 'done')
  const { progress } = await service.show(second)
  expect(progress.total).toBe(phones.length - first.length)
  expect((await service.ledger()).slice(before).sort()).toEqual([...phones].sort())
})

test('messages of a cancelled campaign are not requeued, and are counted as such', async () => {
  // So many that it still runs when it is cancelled, however late.
  const { tag, phones } = await service.addPeople(120)
  await rate(5)
  await service.misbehave({ match: { to: phones[0] }, behaviour: 'invalid-parameter', count: 1 })
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await service.show(id)).progress.failed === 1, 'one has failed')
  await service.move(id, 'cancel')
  await rate(FULL_RATE)
  const done = await requeueAll(service, service.tenant, { campaign: id, state: 'failed' })
  expect(done).toMatchObject({ matched: 1, requeued: 0, campaign_over: 1 })
})
