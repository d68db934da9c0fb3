// Pins: whatever order the webhooks of one world come in, and however often each comes, templates, senders, portfolios,
// messages, caps, holds, opt-outs and notices end the same. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { findSender, setSenderProvider } from '../../src/accounts/senders.ts'
import { templateStates } from '../../src/accounts/template-states.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { findOptOut } from '../../src/people/opt-outs/opt-outs.ts'
import { cappedUntil } from '../../src/portfolios/caps.ts'
import { heldNow } from '../../src/portfolios/held-places.ts'
import { createPortfolio, findPortfolio, joinPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { rulesOwnerOf } from '../../src/portfolios/rules-owner.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { SPRING } from '../support/campaigns.ts'
import { accepted, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { acknowledgedId } from '../support/messages.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

const MESSAGES = 5
/** In the past, since a time to come is taken for now (seconds). */
const NOW = Math.floor(Date.now() / 1_000) - 7_200

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let queues: ReturnType<typeof openLaneQueues>
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 1 })
  ;({ service } = world)
  queues = openLaneQueues(service.redis)
  // Every second message is held.
  world.product.state.answer = (call, to) => {
    const answer = accepted(call, to)
    if (Number(to) % 2 === 1) return answer
    const body = JSON.parse(answer.body)
    body.messages[0].message_status = 'held_for_quality_assessment'
    return { ...answer, body: JSON.stringify(body) }
  }
})
afterAll(async () => {
  await queues?.close()
  await world?.close()
})

interface Place {
  account: number
  lane: number
  number: string
  phoneNumberId: string
  wabaId: string
  portfolio: number
  admin: string
  messages: { id: string; attempt: string; to: string }[]
}

let places = 0
/** An account with a sender, templates, a portfolio and some messages that were sent, which is like every other one. */
async function newPlace(): Promise<Place> {
  places += 1
  const { redis } = service
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api', rate: 80 })
  const { account, cloudLane: lane, cloudNumber: number } = tenant
  const wabaId = String(900_000 + places)
  await world.product.serve(service, lane)
  await setSenderProvider(redis, lane, { wabaId })
  for (const name of ['spring', 'autumn'])
    await importTemplate(redis, account, templateSchema.parse({ ...SPRING, name }))
  const portfolio = await newPortfolioId(redis)
  await createPortfolio(redis, { id: portfolio, account, name: 'Shop', daily_limit: 250 })
  await joinPortfolio(redis, { id: lane, account }, portfolio)
  const sendTo = async (to: string) => {
    const parameters = [{ type: 'text', text: 'Jo' }]
    const answer = await service.post('/chatappbusiness/send-templated-message', {
      ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', to: `+${to}` },
      ...{ type: 'template', sender: number },
      template: { name: 'spring', language: { code: 'en_US' }, components: [{ type: 'body', parameters }] },
    })
    const id = acknowledgedId(answer)
    const parsed = parseMessageId(id)
    const record = await eventually(async () => {
      const found = parsed && (await readMessage(redis, parsed))
      return found?.state === 'sent' ? found : undefined
    }, 'it is sent')
    return { id, attempt: record.attempt, to }
  }
  const messages = await Promise.all(Array.from({ length: MESSAGES }, (_, i) => sendTo(`49155000000${i}`)))
  const sender = await findSender(redis, lane)
  const admin = await tenant.key('admin')
  return { account, lane, number, phoneNumberId: sender?.phone_number_id ?? '', wabaId, portfolio, admin, messages }
}

/** A change of a webhook, for whichever place. `time`: seconds; undefined: its entry has none. */
type Change = (place: Place) => { field: string; value: object; time: number | undefined }

async function bring(place: Place, change: Change): Promise<void> {
  const { field, value, time } = change(place)
  const entry = { id: place.wabaId, ...(time !== undefined && { time }), changes: [{ field, value }] }
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry: [entry] })
  const { status, text } = await postSigned(`${service.url}/webhooks/cloud-api`, body)
  expect(status, text).toBe(200)
}

/** One after the other. */
async function bringAll(place: Place, changes: readonly Change[]): Promise<void> {
  for (const change of changes) await bring(place, change)
}

const noticesPage = z.object({
  data: z.array(
    z.looseObject({
      field: z.string(),
      at: z.string(),
      sentence: z.string(),
      details: z.unknown(),
      event: z.unknown(),
    }),
  ),
})

/** All that webhooks change. */
async function stateOf({ account, lane, portfolio, admin, messages }: Place) {
  const { redis } = service
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  const rules = await rulesOwnerOf(redis, { id: lane, portfolio })
  const named = ['spring', 'autumn'].map((name) => ({ name, language: 'en_US' }))
  const { data } = noticesPage.parse(
    (await service.request('GET', '/admin/notices?limit=1000', undefined, admin)).json(),
  )
  const records = await Promise.all(
    messages.map(async ({ id }) => {
      const parsed = parseMessageId(id)
      const record = parsed && (await readMessage(redis, parsed))
      const { state, problem, cappedUntil: capped, heldSince } = record ?? {}
      return { state, code: problem?.code, capped, isHeld: heldSince !== undefined }
    }),
  )
  const people = messages.map(({ to }) => to)
  const optOuts = await Promise.all(people.map((to) => findOptOut(redis, account, to)))
  return {
    templates: (await templateStates(redis, account, named)).map((since) => since(0)),
    sender: {
      ...{ rate: sender.rate, quality: sender.told_quality?.value, name: sender.told_name?.value },
      ...{ block: sender.told_block?.value, isPaused: await queues.isPaused(lane), pausedFor: sender.paused_for },
    },
    portfolio: (await findPortfolio(redis, portfolio))?.daily_limit,
    messages: records,
    caps: await cappedUntil(
      redis,
      rules,
      people.map((each) => [each]),
    ),
    held: (await heldNow(redis, { portfolio })).count,
    optOuts: optOuts.map((each) => each?.source),
    notices: data
      .map(({ field, at, sentence, details, event }) =>
        // What WhatsApp gives no time is told when it came.
        JSON.stringify({ field, at: field === 'errors' ? undefined : at, sentence, details, event }),
      )
      .sort(),
  }
}

const second = fc.integer({ min: 0, max: 6 }).map((after) => NOW + after)
const template = fc.constantFrom('spring', 'autumn')
const of = (name: string) => ({
  message_template_name: name,
  message_template_language: 'en_US',
  message_template_id: 1,
})
const news =
  (field: string, value: (place: Place) => object, time: number): Change =>
  (place) => ({ field, value: value(place), time })

const templateChange = fc.tuple(template, second).chain(([name, time]) =>
  fc.oneof(
    fc
      .constantFrom('APPROVED', 'PAUSED', 'DISABLED', 'REJECTED', 'FLAGGED', 'REINSTATED')
      .map((event) => news('message_template_status_update', () => ({ ...of(name), event, reason: 'NONE' }), time)),
    fc
      .constantFrom('GREEN', 'YELLOW', 'RED')
      .map((score) => news('message_template_quality_update', () => ({ ...of(name), new_quality_score: score }), time)),
    fc
      .constantFrom('UTILITY', 'MARKETING')
      .map((now) =>
        news(
          'template_category_update',
          () => ({ ...of(name), previous_category: 'MARKETING', new_category: now }),
          time,
        ),
      ),
    fc.constant(news('message_template_components_update', () => of(name), time)),
  ),
)
const numberChange = second.chain((time) =>
  fc.oneof(
    fc
      .constantFrom('FLAGGED', 'UNFLAGGED', 'THROUGHPUT_UPGRADE', 'UPGRADE')
      .chain((event) =>
        fc
          .constantFrom('TIER_1K', 'TIER_10K', 'TIER_UNLIMITED')
          .map((current_limit) =>
            news(
              'phone_number_quality_update',
              ({ number }) => ({ display_phone_number: number, event, current_limit }),
              time,
            ),
          ),
      ),
    fc
      .constantFrom('One', 'Two')
      .map((name) =>
        news(
          'phone_number_name_update',
          ({ number }) => ({ display_phone_number: number, decision: 'APPROVED', requested_verified_name: name }),
          time,
        ),
      ),
    fc
      .constantFrom(2_000, 10_000, -1)
      .map((limit) =>
        news('business_capability_update', () => ({ max_daily_conversations_per_business: limit }), time),
      ),
    fc
      .constantFrom('DISABLE', 'REINSTATE')
      .map((state) =>
        news('account_update', () => ({ event: 'DISABLED_UPDATE', ban_info: { waba_ban_state: state } }), time),
      ),
    fc.constant(news('security', ({ number }) => ({ display_phone_number: number, event: 'PIN_CHANGED' }), time)),
    fc.constantFrom('one', 'two').map((what) => news('something_new', () => ({ what, of: [1] }), time)),
    fc.constant(news('account_review_update', () => ({ decision: 'APPROVED' }), time)),
    fc.constant(news('account_alerts', () => ({ alert_type: 'OBA_APPROVED', alert_severity: 'INFO' }), time)),
  ),
)
/** Of the field `messages`, whose entries have no time of their own. */
const ofNumber =
  (value: (place: Place) => object): Change =>
  (place) => ({
    field: 'messages',
    value: { metadata: { phone_number_id: place.phoneNumberId }, ...value(place) },
    time: undefined,
  })
const valueChange = fc.oneof(
  fc.constantFrom(130429, 131000).map((code) => ofNumber(() => ({ errors: [{ code, title: 'x' }] }))),
  second.map((time) =>
    ofNumber(() => ({ user_actions: [{ action_type: 'marketing_messages_link_click', timestamp: String(time) }] })),
  ),
)
const preferenceChange = fc.tuple(fc.nat(MESSAGES - 1), fc.constantFrom('stop', 'resume'), second).map(
  ([of, value, time]): Change =>
    (place) => ({
      field: 'user_preferences',
      value: {
        metadata: { phone_number_id: place.phoneNumberId },
        user_preferences: [
          { wa_id: place.messages[of]?.to, category: 'marketing_messages', value, timestamp: time, detail: 'x' },
        ],
      },
      time: undefined,
    }),
)

const FAILURES = [131049, 132015, 135000, 131026]
/** What WhatsApp may report of one message: it fails once, for one reason. */
const statusesOf = (of: number) =>
  fc
    .tuple(
      fc.subarray(['sent', 'delivered', 'read'] as const),
      fc.option(fc.constantFrom(...FAILURES), { nil: undefined }),
      second,
    )
    .map(([known, failure, time]): Change[] => {
      const all: [string, number | undefined][] = known.map((status) => [status, undefined])
      if (failure !== undefined) all.push(['failed', failure])
      return all.map(([status, code], i) =>
        ofNumber(({ messages }) => ({
          statuses: [
            {
              ...{ id: `wamid.${messages[of]?.id}`, status, timestamp: String(time + i) },
              biz_opaque_callback_data: opaqueOf(messages[of]),
              ...(code !== undefined && { errors: [{ code, title: 'x' }] }),
            },
          ],
        })),
      )
    })

function opaqueOf(message: Place['messages'][number] | undefined): string {
  return createOpaqueIds(secretKeysOf(service.config)).sign(message?.id ?? '', message?.attempt ?? '')
}

const anyWorld = fc
  .record({
    statuses: fc.tuple(...Array.from({ length: MESSAGES }, (_, of) => statusesOf(of))),
    news: fc.array(fc.oneof(templateChange, numberChange, valueChange, preferenceChange), {
      minLength: 6,
      maxLength: 20,
    }),
  })
  .map(({ statuses, news: changes }) => [...statuses.flat(), ...changes])

test('any order and any repetition of the webhooks of one world ends in the same state', async () => {
  await fc.assert(
    fc.asyncProperty(
      anyWorld.chain((changes) => {
        const twice = [...changes.keys(), ...changes.keys()]
        return fc.record({
          changes: fc.constant(changes),
          order: fc.shuffledSubarray(twice, { minLength: twice.length }),
        })
      }),
      async ({ changes, order }) => {
        const [one, other] = await Promise.all([newPlace(), newPlace()])
        const again = order.flatMap((place) => changes[place] ?? [])
        await Promise.all([bringAll(one, changes), bringAll(other, again)])
        expect(await stateOf(other)).toEqual(await stateOf(one))
      },
    ),
    { numRuns: 6, endOnFailure: true },
  )
})
