// Pins: a portfolio's daily limit is kept over all that its numbers send, campaigns wait for it and say so, and transactional
// templates have a reserve. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { findSender } from '../../src/accounts/senders.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { openReplyWindow } from '../../src/lanes/messages/inbound.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { cap } from '../../src/portfolios/caps.ts'
import {
  createPortfolio,
  findPortfolio,
  joinPortfolio,
  newPortfolioId,
  removePortfolio,
  setPortfolio,
} from '../../src/portfolios/portfolios.ts'
import { showPortfolio } from '../../src/portfolios/usage.ts'
import { startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { acknowledgedId } from '../support/messages.ts'
import { optOutsOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

const CODE = {
  ...{ name: 'ready', category: 'UTILITY', language: 'en_US', status: 'APPROVED' },
  components: [{ type: 'BODY', text: 'Your order is ready.' }],
}
const shown = z.object({
  data: z.looseObject({ waits: z.object({ why: z.string(), until: z.string().nullable() }).nullable() }),
})

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
let portfolio: number
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 10 })
  ;({ service, product } = world)
  await importTemplate(service.redis, service.tenant.account, templateSchema.parse(CODE))
})
beforeEach(async () => {
  world.reset()
  const { redis, lane, tenant } = service
  portfolio = await newPortfolioId(redis)
  await createPortfolio(redis, { id: portfolio, account: tenant.account, name: 'Shop', daily_limit: 20 })
  const sender = await findSender(redis, lane)
  if (sender === undefined) throw new Error('no sender')
  await joinPortfolio(redis, sender, portfolio)
  // Workers know senders and portfolios for a second each.
  await service.stopWorker()
  await service.startWorker()
})
afterEach(async () => setPortfolio(service.redis, portfolio, { daily_limit: null }))
afterAll(() => world?.close())

const used = async (): Promise<number> => {
  const found = await findPortfolio(service.redis, portfolio)
  return found === undefined ? -1 : (await showPortfolio(service.redis, found)).used
}
const waitsOf = async (path: string) => shown.parse((await service.request('GET', path)).json()).data.waits
const code = async (to: string, sender = service.sender): Promise<string> =>
  acknowledgedId(
    await service.post('/chatappbusiness/send-templated-message', {
      ...{
        api_key: service.tenant.apiKey,
        messaging_product: 'chatapp',
        recipient_type: 'individual',
        to,
        type: 'template',
      },
      template: { name: 'ready', language: { code: 'en_US' }, components: [] },
      sender,
    }),
  )

test('a campaign stops at the limit less the reserve and goes on by itself; codes use the reserve', async () => {
  const id = await world.started(50)
  expect((await service.show(id)).preflight).toMatchObject({ days: 3, people: { now: 18, a_day: 18 } })
  const waits = await eventually(async () => (await waitsOf(`/campaigns/${id}`)) ?? undefined, 'it waits')
  expect(waits).toMatchObject({ why: 'portfolio_limit', until: expect.any(String) })
  await eventually(async () => (await service.show(id)).progress.sent === 18 || undefined, '18 are sent')
  expect(product.state.calls).toHaveLength(18)
  expect(await used()).toBe(18)

  for (const to of ['+4915300000001', '+4915300000002']) await code(to)
  await eventually(async () => product.state.calls.length === 20 || undefined, 'two codes left')
  // Once counted, a person gets as many as they like.
  await code('+4915300000001')
  await eventually(async () => product.state.calls.length === 21 || undefined, 'a third code to one of them')
  const late = await code('+4915300000003')
  await eventually(
    async () => (await waitsOf(`/messages/${late}`))?.why === 'portfolio_limit' || undefined,
    'the fourth waits',
  )
  expect(product.state.calls).toHaveLength(21)
  expect(await used()).toBe(20)

  // It asks again within a minute, and would count in the portfolio of a later test.
  expect((await service.request('POST', `/messages/${late}/cancel`)).status).toBe(200)

  await setPortfolio(service.redis, portfolio, { daily_limit: 100 })
  await service.reaches(id, 'done', 120_000)
  expect((await service.show(id)).progress).toMatchObject({ sent: 50, failed: 0 })
})

test('a campaign on one number leaves the reserve of another number of the portfolio alone', async () => {
  const { redis, tenant } = service
  await joinPortfolio(redis, { id: tenant.partnerLane, account: tenant.account }, portfolio)
  await service.stopWorker()
  await service.startWorker()
  const id = await world.started(50)
  await eventually(async () => (await service.show(id)).progress.sent === 18 || undefined, '18 are sent')
  const sent: string[] = []
  for (const to of ['+4915300000011', '+4915300000012']) sent.push(await code(to, tenant.partnerNumber))
  for (const each of sent) {
    await eventually(async () => ((await waitsOf(`/messages/${each}`)) === null ? true : undefined), 'it does not wait')
  }
  await eventually(async () => (await used()) === 20 || undefined, 'both count')
  const third = await code('+4915300000013', tenant.partnerNumber)
  await eventually(
    async () => (await waitsOf(`/messages/${third}`))?.why === 'portfolio_limit' || undefined,
    'a third waits, on the other number as well',
  )
  // Out of the portfolio, its own limit is none.
  await joinPortfolio(redis, { id: tenant.partnerLane, account: tenant.account }, null)
  await eventually(async () => ((await waitsOf(`/messages/${third}`)) === null ? true : undefined), 'it leaves', 75_000)
  expect(await used()).toBe(20)
  await setPortfolio(redis, portfolio, { daily_limit: null })
  await service.reaches(id, 'done', 120_000)
})

test('a sender that moves while its campaign runs is counted where it is, and nobody is missed or sent to twice', async () => {
  const { redis, tenant, lane } = service
  const second = await newPortfolioId(redis)
  await createPortfolio(redis, { id: second, account: tenant.account, name: 'Second', daily_limit: 20 })
  const usedOf = async (id: number) => {
    const found = await findPortfolio(redis, id)
    return found && (await showPortfolio(redis, found)).used
  }
  const id = await world.started(50)
  await eventually(async () => (await service.show(id)).progress.sent === 18 || undefined, '18 are sent')
  await joinPortfolio(redis, { id: lane, account: tenant.account }, second)
  await eventually(async () => (await service.show(id)).progress.sent === 36 || undefined, '18 more are sent', 90_000)
  expect([await usedOf(portfolio), await usedOf(second)]).toEqual([18, 18])
  await joinPortfolio(redis, { id: lane, account: tenant.account }, null)
  expect(await removePortfolio(redis, { id: second, account: tenant.account })).toEqual([])
  const { progress } = await service.reaches(id, 'done', 120_000)
  expect(progress).toMatchObject({ sent: 50, failed: 0 })
  expect(await usedOf(portfolio)).toBe(18)
  // Without a code of the test before.
  const reached = product.state.calls.map(({ to }) => to).filter((to) => to.startsWith('491520'))
  expect([reached.length, new Set(reached).size]).toEqual([50, 50])
})

test('a person who has written to the number lately does not count', async () => {
  const { tag, phones } = await service.addPeople(30)
  const nowMs = Date.now()
  for (const phone of phones.slice(0, 20)) await openReplyWindow(service.redis, service.lane, phone, nowMs, nowMs)
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await service.reaches(id, 'done', 120_000)
  expect(await used()).toBe(10)
})

test('what is refused does not count', async () => {
  product.state.answer = () => ({
    status: 400,
    body: JSON.stringify({ error: { message: 'x', type: 'OAuthException', code: 131026 } }),
  })
  const id = await world.started(5)
  await service.reaches(id, 'done')
  expect((await service.show(id)).progress).toMatchObject({ failed: 5 })
  expect(await used()).toBe(0)
})

test('a person who has had enough gets no campaign message before that is over', async () => {
  const { tag, phones } = await service.addPeople(3)
  const until = await cap(
    service.redis,
    { lane: service.lane, portfolio: { id: portfolio, dailyLimit: 20, reservePercent: 10 } },
    phones[1] ?? '',
    { forMs: 4_000 },
  )
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await service.show(id)).progress.sent === 2 || undefined, 'the others are sent')
  const answer = await service.request('GET', `/messages?campaign=${id}&to=%2B${phones[1]}`)
  const [message] = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(answer.json()).data
  expect(await waitsOf(`/messages/${message?.id}`)).toMatchObject({
    why: 'person_capped',
    until: new Date(until).toISOString(),
  })
  await eventually(async () => (await service.show(id)).progress.sent === 3 || undefined, 'the third is sent')
  expect(Date.now()).toBeGreaterThanOrEqual(until)
})

test('a message that cannot leave because opt-outs cannot be read does not use the limit', async () => {
  const { redis, tenant } = service
  const optOuts = optOutsOf(redis, tenant.account)
  const { tag } = await service.addPeople(1)
  const id = await service.ready({ tags: [tag] })
  await optOuts.ruin()
  const refusals = async () => (await redis.info('errorstats')).match(/errorstat_WRONGTYPE:count=(\d+)/)?.[1] ?? '0'
  const before = await refusals()
  await service.move(id, 'start')
  await eventually(async () => (await refusals()) !== before || undefined, 'a worker asks for opt-outs in vain')
  await service.stopWorker()
  expect(product.state.calls).toHaveLength(0)
  expect(await used()).toBe(0)

  await optOuts.remove()
  await service.startWorker()
  await service.reaches(id, 'done')
  expect(await used()).toBe(1)
})
