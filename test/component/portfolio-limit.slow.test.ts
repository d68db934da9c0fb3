// Pins: a portfolio's daily limit is kept over all that its numbers send, campaigns wait for it and say so, and transactional
// templates have a reserve. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { addSender } from '../../src/accounts/add-sender.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { openReplyWindow } from '../../src/lanes/messages/inbound.ts'
import { askToReopen } from '../../src/lanes/wake.ts'
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
import { type Answering, accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
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
/** What requests to a person are answered; accepted unless it says otherwise. Tests run side by side. */
const answers = new Map<string, Answering>()
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 10 })
  ;({ service, product } = world)
  product.state.answer = (call, to, template) => (answers.get(to) ?? accepted)(call, to, template)
  await importTemplate(service.redis, service.tenant.account, templateSchema.parse(CODE))
})
afterAll(() => world?.close())

/** A sender of the account that has sent nothing yet, so that no worker knows it, of this portfolio. */
async function newSender(portfolio: number): Promise<{ lane: number; number: string }> {
  const { redis, config, tenant } = service
  senders += 1
  const number = `4917300${1_000 + senders}`
  const lane = await addSender(redis, {
    ...{ account: tenant.account, number, name: '', provider: 'cloud-api', phoneNumberId: `77${number}` },
    ...{ baseUrl: product.url, sealedToken: createSeal(secretKeysOf(config)).encrypt('token'), rate: 80 },
    ...{ honoursIdempotency: false, isDefault: false },
  })
  await joinPortfolio(redis, { id: lane, account: tenant.account }, portfolio)
  return { lane, number }
}
let senders = 0

async function newPortfolio(): Promise<number> {
  const { redis, tenant } = service
  const id = await newPortfolioId(redis)
  await createPortfolio(redis, { id, account: tenant.account, name: `Shop ${id}`, daily_limit: 20 })
  return id
}

/** A portfolio with a sender of its own. */
async function newShop() {
  const portfolio = await newPortfolio()
  const { lane, number } = await newSender(portfolio)
  return {
    ...{ portfolio, lane, number },
    used: () => usedOf(portfolio),
    /** A campaign to these people, ready to start. */
    ready: (tag: number) => service.ready({ tags: [tag] }, { sender: number }),
    /** A campaign to so many new people. */
    async started(people: number): Promise<{ id: string; phones: string[] }> {
      const { tag, phones } = await service.addPeople(people)
      const id = await service.ready({ tags: [tag] }, { sender: number })
      await service.move(id, 'start')
      return { id, phones }
    },
  }
}

function callsTo(...people: string[]): number {
  const these = new Set(people)
  return product.state.calls.filter(({ to }) => these.has(to)).length
}
async function usedOf(portfolio: number): Promise<number> {
  const found = await findPortfolio(service.redis, portfolio)
  return found === undefined ? -1 : (await showPortfolio(service.redis, found)).used
}
const waitsOf = async (path: string) => shown.parse((await service.request('GET', path)).json()).data.waits
const code = async (to: string, sender: string): Promise<string> =>
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

test.concurrent('a campaign stops at the limit less the reserve and goes on by itself; codes use the reserve', async () => {
  const { portfolio, number, used, started } = await newShop()
  const { id, phones } = await started(50)
  const [one, two, three] = ['4915300000001', '4915300000002', '4915300000003'] as const
  const calls = () => callsTo(...phones, one, two, three)
  expect((await service.show(id)).preflight).toMatchObject({ days: 3, people: { now: 18, a_day: 18 } })
  const waits = await eventually(async () => (await waitsOf(`/campaigns/${id}`)) ?? undefined, 'it waits')
  expect(waits).toMatchObject({ why: 'portfolio_limit', until: expect.any(String) })
  await eventually(async () => (await service.show(id)).progress.sent === 18 || undefined, '18 are sent')
  expect(calls()).toBe(18)
  expect(await used()).toBe(18)

  for (const to of [one, two]) await code(`+${to}`, number)
  await eventually(async () => calls() === 20 || undefined, 'two codes left')
  // Once counted, a person gets as many as they like.
  await code(`+${one}`, number)
  await eventually(async () => calls() === 21 || undefined, 'a third code to one of them')
  const late = await code(`+${three}`, number)
  await eventually(
    async () => (await waitsOf(`/messages/${late}`))?.why === 'portfolio_limit' || undefined,
    'the fourth waits',
  )
  expect(calls()).toBe(21)
  expect(await used()).toBe(20)

  // It asks again within a minute, and would count too.
  expect((await service.request('POST', `/messages/${late}/cancel`)).status).toBe(200)

  await setPortfolio(service.redis, portfolio, { daily_limit: 100 })
  await service.reaches(id, 'done', 120_000)
  expect((await service.show(id)).progress).toMatchObject({ sent: 50, failed: 0 })
})

test.concurrent('a campaign on one number leaves the reserve of another number of the portfolio alone', async () => {
  const { redis, tenant } = service
  const { portfolio, used, started } = await newShop()
  const other = await newSender(portfolio)
  const { id } = await started(50)
  await eventually(async () => (await service.show(id)).progress.sent === 18 || undefined, '18 are sent')
  const sent: string[] = []
  for (const to of ['+4915300000011', '+4915300000012']) sent.push(await code(to, other.number))
  for (const each of sent) {
    await eventually(async () => ((await waitsOf(`/messages/${each}`)) === null ? true : undefined), 'it does not wait')
  }
  await eventually(async () => (await used()) === 20 || undefined, 'both count')
  const third = await code('+4915300000013', other.number)
  await eventually(
    async () => (await waitsOf(`/messages/${third}`))?.why === 'portfolio_limit' || undefined,
    'a third waits, on the other number as well',
  )
  // Out of the portfolio, its own limit is none.
  await joinPortfolio(redis, { id: other.lane, account: tenant.account }, null)
  await eventually(async () => ((await waitsOf(`/messages/${third}`)) === null ? true : undefined), 'it leaves', 75_000)
  expect(await used()).toBe(20)
  await setPortfolio(redis, portfolio, { daily_limit: null })
  await service.reaches(id, 'done', 120_000)
})

test.concurrent('a sender that changes its portfolio during a campaign is counted where it is, and nobody is missed or sent to twice', async () => {
  const { redis, tenant } = service
  const { portfolio, lane, started } = await newShop()
  /** Looks again at once: a campaign that waits for the limit does so every ten seconds. */
  const goesOn = async (isSo: () => Promise<boolean>): Promise<boolean> => {
    await askToReopen(redis, lane)
    return isSo()
  }
  const second = await newPortfolio()
  const { id, phones } = await started(50)
  await eventually(async () => (await service.show(id)).progress.sent === 18 || undefined, '18 are sent')
  await joinPortfolio(redis, { id: lane, account: tenant.account }, second)
  await eventually(() => goesOn(async () => (await service.show(id)).progress.sent === 36), '18 more are sent', 90_000)
  expect([await usedOf(portfolio), await usedOf(second)]).toEqual([18, 18])
  await joinPortfolio(redis, { id: lane, account: tenant.account }, null)
  expect(await removePortfolio(redis, { id: second, account: tenant.account })).toEqual([])
  await eventually(() => goesOn(async () => (await service.show(id)).state === 'done'), 'it is done', 120_000)
  const { progress } = await service.show(id)
  expect(progress).toMatchObject({ sent: 50, failed: 0 })
  expect(await usedOf(portfolio)).toBe(18)
  const reached = product.state.calls.map(({ to }) => to).filter((to) => phones.includes(to))
  expect([reached.length, new Set(reached).size]).toEqual([50, 50])
})

test.concurrent('a person who wrote to the number recently does not count', async () => {
  const { lane, used, ready } = await newShop()
  const { tag, phones } = await service.addPeople(30)
  const nowMs = Date.now()
  for (const phone of phones.slice(0, 20)) await openReplyWindow(service.redis, lane, phone, nowMs, nowMs)
  const id = await ready(tag)
  await service.move(id, 'start')
  await service.reaches(id, 'done', 120_000)
  expect(await used()).toBe(10)
})

test.concurrent('a refused message does not count', async () => {
  const { used, ready } = await newShop()
  const { tag, phones } = await service.addPeople(5)
  for (const phone of phones) answers.set(phone, () => graphError(400, 131026))
  const id = await ready(tag)
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  expect((await service.show(id)).progress).toMatchObject({ failed: 5 })
  expect(await used()).toBe(0)
})

test.concurrent('a capped person gets no campaign message before the cap is over', async () => {
  const { lane, portfolio, ready } = await newShop()
  const { tag, phones } = await service.addPeople(4)
  const [, capped = '', soonOver = ''] = phones
  const id = await ready(tag)
  const owner = { lane, portfolio: { id: portfolio, dailyLimit: 20, reservePercent: 10 } }
  // One cap that lasts longer than the test on any machine, and one whose end is waited for.
  const until = await cap(service.redis, owner, capped, { forMs: 3_600_000 })
  const soon = await cap(service.redis, owner, soonOver, { forMs: 4_000 })
  await service.move(id, 'start')
  await eventually(async () => callsTo(soonOver) === 1 || undefined, 'the one whose cap ends is sent')
  expect(Date.now()).toBeGreaterThanOrEqual(soon)
  await eventually(async () => (await service.show(id)).progress.sent === 3 || undefined, 'all others are sent')
  const answer = await service.request('GET', `/messages?campaign=${id}&to=%2B${capped}`)
  const [message] = z.object({ data: z.array(z.object({ id: z.string() })) }).parse(answer.json()).data
  expect(await waitsOf(`/messages/${message?.id}`)).toMatchObject({
    why: 'person_capped',
    until: new Date(until).toISOString(),
  })
  expect(callsTo(capped)).toBe(0)
})

test('a message that cannot leave because opt-outs cannot be read does not use the limit', async () => {
  const { redis, tenant } = service
  const { used, ready } = await newShop()
  const optOuts = optOutsOf(redis, tenant.account)
  const { tag, phones } = await service.addPeople(1)
  const id = await ready(tag)
  await optOuts.ruin()
  const refusals = async () => (await redis.info('errorstats')).match(/errorstat_WRONGTYPE:count=(\d+)/)?.[1] ?? '0'
  const before = await refusals()
  await service.move(id, 'start')
  await eventually(async () => (await refusals()) !== before || undefined, 'a worker asks for opt-outs in vain')
  await service.stopWorker()
  expect(callsTo(...phones)).toBe(0)
  expect(await used()).toBe(0)

  await optOuts.remove()
  await service.startWorker()
  await service.reaches(id, 'done')
  expect(await used()).toBe(1)
})
