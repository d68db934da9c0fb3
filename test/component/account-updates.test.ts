// Pins: what WhatsApp tells of templates, numbers and accounts changes them in the order of its own times, pauses campaigns, and
// is kept as a notice, whatever the field. Real: Redis, HTTP, producer, worker.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { findSender, setSenderProvider, setSenderRate } from '../../src/accounts/senders.ts'
import { findTemplate, importTemplate } from '../../src/accounts/templates.ts'
import { pauseLane, resumeLane } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import {
  createPortfolio,
  findPortfolio,
  joinPortfolio,
  newPortfolioId,
  setPortfolio,
} from '../../src/portfolios/portfolios.ts'
import { type CampaignService, SPRING, startCampaigns } from '../support/campaigns.ts'
import { acknowledgedId } from '../support/messages.ts'
import { ownAct } from '../support/own-acts.ts'
import { eventually } from '../support/wait.ts'
import { bringWebhook } from '../support/webhooks.ts'

let service: CampaignService
let admin: string
beforeAll(async () => {
  service = await startCampaigns({ rate: 20 })
  // Several accounts have numbers here, and nobody else may hear of this one.
  await setSenderProvider(service.redis, service.lane, { wabaId: '4711' })
  admin = (await createCredential(service.redis, service.tenant.account, ['admin'], Date.now())).secret
})
afterAll(() => service?.close())

/** In the past, since a time to come is taken for now. */
const NOW = Math.floor(Date.now() / 1_000) - 3_600

/** Brings a signed webhook with one change; `time` in seconds. */
async function bring(field: string, value: unknown, time = NOW): Promise<void> {
  const { status, text } = await bringWebhook(service.url, [{ field, value }], { waba: '4711', atMs: time * 1_000 })
  expect(status, text).toBe(200)
}

const ofTemplate = { message_template_id: 1, message_template_name: 'spring', message_template_language: 'en-US' }
const notices = async () => {
  const answer = await service.request('GET', '/admin/notices?limit=1000', undefined, admin)
  return z.object({ data: z.array(z.looseObject({ field: z.string() })) }).parse(answer.json()).data
}

test('a paused template pauses its campaigns within a second, and none of their messages leave any more', async () => {
  const { tag } = await service.addPeople(400)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => Number((await service.show(id)).progress.queued) < 390 || undefined, 'it sends')
  await bring('message_template_status_update', { ...ofTemplate, event: 'PAUSED', reason: 'LOW_QUALITY' })
  const { state, reason } = await service.show(id)
  expect([state, reason]).toEqual(['paused', expect.stringMatching(/^template_paused/)])
  const act = await ownAct(service.redis, 'campaign.pause', id)
  expect(act).toMatchObject({ account: service.tenant.account, detail: reason })
  const refused = await service.request('POST', `/campaigns/${id}/resume`)
  expect([
    refused.status,
    z.object({ error: z.object({ code: z.string() }) }).parse(refused.json()).error.code,
  ]).toEqual([400, 'template_not_approved'])
  await bring('message_template_status_update', { ...ofTemplate, event: 'APPROVED' }, NOW + 1)
  await service.move(id, 'resume')
  await service.move(id, 'cancel')
})

test('account updates are counted once, by labels from closed lists', async () => {
  const operator = (await createCredential(service.redis, NO_ACCOUNT, [OPERATOR], Date.now())).secret
  const counted = async () => {
    const { text } = await service.request('GET', '/metrics', undefined, operator)
    const lines = text.split('\n').filter((line) => line.startsWith('laneway_notices_total{'))
    return new Map(lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]))
  }
  const before = await counted()
  const flagged = { ...ofTemplate, message_template_name: 'count_me', event: 'FLAGGED' }
  await bring('message_template_status_update', flagged, NOW + 2)
  await bring('message_template_status_update', flagged, NOW + 2)
  await bring('telepathy_update', { event: 'SECRET_WORD' }, NOW + 3)
  const after = await counted()
  const rise = (labels: string) =>
    (after.get(`laneway_notices_total{${labels}}`) ?? 0) - (before.get(`laneway_notices_total{${labels}}`) ?? 0)
  expect(rise('field="message_template_status_update",event="FLAGGED"')).toBe(1)
  expect(rise('field="other",event=""')).toBe(1)
  expect([...after.keys()].join()).not.toMatch(/telepathy|SECRET_WORD|count_me/)
  // An alert sees an increase only of what was told before.
  expect(before.get('laneway_notices_total{field="message_template_status_update",event="DISABLED"}')).toBe(0)
})

test('notices are found by field, sender and template, a page at a time', async () => {
  for (const name of ['found_one', 'found_two', 'found_one']) {
    const value = { ...ofTemplate, message_template_name: name, new_quality_score: 'GREEN' }
    await bring('message_template_quality_update', value, NOW + 4 + Number(name === 'found_two'))
    await bring('message_template_status_update', { ...ofTemplate, message_template_name: name, event: 'FLAGGED' })
  }
  const page = async (query: string) =>
    z
      .object({
        data: z.array(z.looseObject({ field: z.string(), template: z.looseObject({ name: z.string() }).nullable() })),
        next: z.string().nullable(),
      })
      .parse((await service.request('GET', `/admin/notices?${query}`, undefined, admin)).json())
  const quality = await page('field=message_template_quality_update&template=found_one')
  expect(quality.data.map(({ field, template }) => [field, template?.name])).toEqual([
    ['message_template_quality_update', 'found_one'],
  ])
  expect(quality.next).toBeNull()
  const first = await page('template=found_one&limit=1')
  const second = await page(`template=found_one&limit=1&cursor=${first.next}`)
  expect([...first.data, ...second.data].map(({ field }) => field).sort()).toEqual([
    'message_template_quality_update',
    'message_template_status_update',
  ])
  expect((await page('sender=999999')).data).toEqual([])
})

test('an older account update never overwrites a newer one, in whatever order and however often they come', async () => {
  const words = (name: string) => {
    const about = { ...ofTemplate, message_template_name: name }
    const categories = (before: string, now: string) => ({ ...about, previous_category: before, new_category: now })
    return [
      ['message_template_status_update', { ...about, event: 'PAUSED' }, NOW + 10],
      ['message_template_status_update', { ...about, event: 'APPROVED' }, NOW + 20],
      ['message_template_status_update', { ...about, event: 'DISABLED' }, NOW + 30],
      ['template_category_update', categories('MARKETING', 'UTILITY'), NOW + 15],
      ['template_category_update', categories('UTILITY', 'MARKETING'), NOW + 25],
    ] as const
  }
  const { account } = service.tenant
  let runs = 0
  const places = [...Array(5).keys(), ...Array(5).keys()]
  await fc.assert(
    fc.asyncProperty(fc.shuffledSubarray(places, { minLength: places.length }), async (order) => {
      runs += 1
      const name = `spring_${runs}`
      await importTemplate(service.redis, account, templateSchema.parse({ ...SPRING, name }))
      const all = words(name)
      for (const place of order) {
        const word = all[place]
        if (word) await bring(word[0], word[1], word[2])
      }
      const found = await findTemplate(service.redis, account, name, 'en_US')
      expect(found).toMatchObject({ status: 'DISABLED', category: 'MARKETING' })
    }),
    { numRuns: 15 },
  )
})

test('a closed account stops its lane and a reinstated one restarts it, in whatever order the updates come', async () => {
  const ban = (state: string, time: number) =>
    bring('account_update', { event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: state } }, time)
  const { redis, lane } = service
  const queues = openLaneQueues(redis)
  await ban('DISABLE', NOW + 1)
  expect([await queues.isPaused(lane), (await findSender(redis, lane))?.paused_for]).toEqual([
    true,
    'WhatsApp has closed the account: DISABLED_UPDATE',
  ])
  await ban('REINSTATE', NOW + 2)
  expect(await queues.isPaused(lane)).toBe(false)
  expect(await ownAct(redis, 'lane.resume', String(lane))).toMatchObject({
    ...{ account: service.tenant.account, detail: 'WhatsApp has opened the account again.' },
  })
  // The ban that the next reinstatement ends comes after it, and the first one once more.
  await ban('REINSTATE', NOW + 4)
  await ban('DISABLE', NOW + 3)
  await ban('DISABLE', NOW + 1)
  expect(await queues.isPaused(lane)).toBe(false)
  await ban('DISABLE', NOW + 5)
  await resumeLane(redis, queues, lane)
  await ban('DISABLE', NOW + 5)
  expect(await queues.isPaused(lane)).toBe(false)
  // A pause of a person is none of this.
  await pauseLane(redis, queues, lane, { reason: 'lunch', by: 'Jo' })
  await ban('REINSTATE', NOW + 6)
  expect(await queues.isPaused(lane)).toBe(true)
  await resumeLane(redis, queues, lane)
  await queues.close()
})

test('a throughput upgrade raises the rate of a sender that follows it, and a new limit that of its portfolio', async () => {
  const { redis, lane, tenant } = service
  const id = await newPortfolioId(redis)
  await createPortfolio(redis, { id, account: tenant.account, name: 'Shop', daily_limit: 250 })
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  await joinPortfolio(redis, sender, id)
  const about = { display_phone_number: sender.number }
  await bring(
    'phone_number_quality_update',
    { ...about, event: 'THROUGHPUT_UPGRADE', current_limit: 'TIER_UNLIMITED' },
    NOW + 40,
  )
  expect((await findSender(redis, lane))?.rate).toBe(1_000)
  await bring(
    'business_capability_update',
    { max_daily_conversation_per_phone: 2_000, max_phone_numbers_per_business: 2 },
    NOW + 60,
  )
  expect((await findPortfolio(redis, id))?.daily_limit).toBe(2_000)
  await bring(
    'business_capability_update',
    { max_daily_conversation_per_phone: 1_000, max_phone_numbers_per_business: 2 },
    NOW + 50,
  )
  expect((await findPortfolio(redis, id))?.daily_limit).toBe(2_000)
})

test('a sender that does not follow keeps its rate, and its portfolio its limit; the update is kept as a notice', async () => {
  const { redis, lane, tenant } = service
  const id = await newPortfolioId(redis)
  await createPortfolio(redis, { id, account: tenant.account, name: 'Own', daily_limit: 250 })
  await joinPortfolio(redis, { id: lane, account: tenant.account }, id)
  await setSenderRate(redis, lane, 20)
  await setSenderProvider(redis, lane, { followProvider: false })
  const number = (await findSender(redis, lane))?.number
  await bring('phone_number_quality_update', { display_phone_number: number, event: 'THROUGHPUT_UPGRADE' }, NOW + 70)
  await bring('business_capability_update', { max_daily_conversations_per_business: 10_000 }, NOW + 70)
  expect(await findSender(redis, lane)).toMatchObject({ rate: 20, told_rate: { value: '1000' } })
  expect((await findPortfolio(redis, id))?.daily_limit).toBe(250)
  await setSenderProvider(redis, lane, { followProvider: true })
  await bring('business_capability_update', { max_daily_conversations_per_business: 'TIER_UNLIMITED' }, NOW + 71)
  expect((await findPortfolio(redis, id))?.daily_limit).toBeNull()
  // What a person sets stays, however often WhatsApp says the same again.
  await setPortfolio(redis, id, { daily_limit: 500 })
  await bring('business_capability_update', { max_daily_conversations_per_business: 'TIER_UNLIMITED' }, NOW + 71)
  expect((await findPortfolio(redis, id))?.daily_limit).toBe(500)
  // A limit is never larger than one that a person may set.
  await bring('business_capability_update', { max_daily_conversations_per_business: '999999999M' }, NOW + 72)
  expect((await findPortfolio(redis, id))?.daily_limit).toBe(100_000_000)
})

test('an update about a number that is not ours changes none of ours', async () => {
  const { redis, lane } = service
  await setSenderRate(redis, lane, 20)
  await setSenderProvider(redis, lane, { followProvider: true })
  const before = await findSender(redis, lane)
  const elsewhere = { display_phone_number: '15550000000' }
  await bring('phone_number_quality_update', { ...elsewhere, event: 'THROUGHPUT_UPGRADE' }, NOW + 80)
  await bring('phone_number_quality_update', { ...elsewhere, event: 'FLAGGED' }, NOW + 80)
  const named = { ...elsewhere, decision: 'APPROVED', requested_verified_name: 'Elsewhere' }
  await bring('phone_number_name_update', named, NOW + 80)
  expect(await findSender(redis, lane)).toEqual(before)
})

test('a template whose category changes is sent in another class from then on', async () => {
  await importTemplate(service.redis, service.tenant.account, templateSchema.parse({ ...SPRING, name: 'moved' }))
  const send = async () => {
    const answer = await service.post('/chatappbusiness/send-templated-message', {
      ...{ api_key: service.tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual' },
      ...{ to: '+4915600000001', type: 'template', sender: service.sender },
      template: {
        ...{ name: 'moved', language: { code: 'en_US' } },
        components: [{ type: 'body', parameters: [{ type: 'text', text: 'Jo' }] }],
      },
    })
    return (await service.request('GET', `/messages/${acknowledgedId(answer)}`)).json().data.class
  }
  expect(await send()).toBe('campaign')
  const about = { ...ofTemplate, message_template_name: 'moved' }
  await bring('template_category_update', { ...about, previous_category: 'MARKETING', new_category: 'UTILITY' })
  await eventually(async () => ((await send()) === 'transactional' ? true : undefined), 'the class is another')
})

test.each([
  ['message_template_quality_update', { ...ofTemplate, previous_quality_score: 'GREEN', new_quality_score: 'RED' }],
  ['message_template_components_update', { ...ofTemplate, message_template_title: 'x', message_template_element: 'y' }],
  [
    'phone_number_name_update',
    { display_phone_number: '15550000000', decision: 'APPROVED', requested_verified_name: 'Shop' },
  ],
  ['account_update', { event: 'VERIFIED_ACCOUNT', phone_number: '15550000000' }],
  [
    'account_alerts',
    {
      entity_type: 'WABA',
      entity_id: '4711',
      alert_severity: 'WARNING',
      alert_status: 'NONE',
      alert_type: 'x',
      alert_description: 'Take care.',
    },
  ],
  ['account_review_update', { decision: 'APPROVED' }],
  ['security', { display_phone_number: '15550000000', event: 'PIN_CHANGED', requester: '1' }],
  ['something_new', { anything: { at: ['all'] } }],
  ['message_template_status_update', { ...ofTemplate, event: 'FLAGGED', reason: 'NONE' }],
  ['template_category_update', { ...ofTemplate, correct_category: 'MARKETING' }],
  ['phone_number_quality_update', { display_phone_number: '15550000000', event: 'UNFLAGGED' }],
  ['business_capability_update', { max_phone_numbers_per_business: 3 }],
  ['account_review_update', 'not as WhatsApp describes it'],
])('%s is kept as a notice', async (field, value) => {
  const before = (await notices()).length
  await bring(field, value, NOW + 100 + before)
  const found = await notices()
  expect(found).toHaveLength(before + 1)
  expect(found.map((each) => each.field)).toContain(field)
})

test('errors of a number, clicks and preferences that come as changes of messages are kept as notices as well', async () => {
  const phone_number_id = (await findSender(service.redis, service.lane))?.phone_number_id
  const about = { metadata: { phone_number_id } }
  await bring('messages', { ...about, errors: [{ code: 130429, title: 'too fast' }] })
  const clicks = [{ action_type: 'marketing_messages_link_click', timestamp: String(NOW) }]
  await bring('messages', { ...about, user_actions: clicks })
  const stop = { wa_id: '4915600000009', category: 'marketing_messages', value: 'stop', timestamp: NOW }
  await bring('user_preferences', { ...about, user_preferences: [stop] })
  const found = await notices()
  expect(found).toContainEqual(expect.objectContaining({ field: 'errors', event: '130429', sender: service.lane }))
  expect(found).toContainEqual(expect.objectContaining({ field: 'user_actions', sender: service.lane }))
  expect(found).toContainEqual(expect.objectContaining({ field: 'user_preferences', event: 'stop' }))
  expect(JSON.stringify(found)).not.toContain('4915600000009')
})
