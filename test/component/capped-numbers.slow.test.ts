// Pins: that a person has had enough marketing holds for all numbers of a portfolio and for single messages, not for other
// portfolios and not for codes; requeue jobs and the command line say how many they skip. Real: Redis, HTTP, producer,
// worker, CLI. Stood in for: WhatsApp.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { findSender } from '../../src/accounts/senders.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { cap } from '../../src/portfolios/caps.ts'
import { createPortfolio, joinPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { recipientsReader } from '../support/ledger.ts'
import { acknowledgedId } from '../support/messages.ts'
import { eventually } from '../support/wait.ts'

/** Longer than the tests take on any machine. */
const CAP_SECONDS = 3_600
/** So short that a test waits for the end. */
const SHORT_CAP_MS = 1_500
const CAPPED = 131049
const CODE = {
  ...{ name: 'ready', category: 'UTILITY', language: 'en_US', status: 'APPROVED' },
  components: [{ type: 'BODY', text: 'Your order is ready.' }],
}

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 10, env: { LANEWAY_CAP_SECONDS: String(CAP_SECONDS) } })
  ;({ service, product } = world)
  await importTemplate(service.redis, service.tenant.account, templateSchema.parse(CODE))
})
beforeEach(() => world.reset())
afterAll(() => world?.close())

let people = 0
const somebody = (): string => {
  people += 1
  return `49153${String(people).padStart(8, '0')}`
}

async function send(sender: string, to: string, template: 'spring' | 'ready'): Promise<string> {
  const parameters = [{ type: 'text', text: 'Jo' }]
  const components = template === 'spring' ? [{ type: 'body', parameters }] : []
  const answer = await service.post('/chatappbusiness/send-templated-message', {
    ...{ api_key: service.tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual' },
    ...{
      to: `+${to}`,
      type: 'template',
      template: { name: template, language: { code: 'en_US' }, components },
      sender,
    },
  })
  return acknowledgedId(answer)
}

const shown = z.looseObject({
  state: z.string(),
  problem: z.looseObject({ code: z.string(), capped_until: z.string().optional() }).nullable(),
  waits: z.looseObject({ why: z.string(), until: z.string().nullable() }).nullable(),
})
const show = async (id: string) => shown.parse((await service.request('GET', `/messages/${id}`)).json().data)
const reaches = (id: string, state: string) =>
  eventually(async () => ((await show(id)).state === state ? show(id) : undefined), `${id} is ${state}`)
/** It was sent. On a wire that is polled its state may have gone on by the time that the test asks. */
const leaves = (id: string) =>
  eventually(async () => {
    const message = await show(id)
    return ['sent', 'delivered', 'read'].includes(message.state) ? message : undefined
  }, `${id} is sent`)
const sentByOther = async (): Promise<string[]> => await recipientsReader(service.simulator.url)()

async function portfolioOf(...lanes: number[]): Promise<number> {
  const id = await newPortfolioId(service.redis)
  await createPortfolio(service.redis, { id, account: service.tenant.account, name: 'Shop' })
  for (const lane of lanes) {
    const sender = await findSender(service.redis, lane)
    if (sender !== undefined) await joinPortfolio(service.redis, sender, id)
  }
  // Workers know senders and portfolios for a second each.
  await service.stopWorker()
  await service.startWorker()
  return id
}

// First, as it counts all failed messages of its sender.
test('a requeue job and the command line skip capped people and report how many', async () => {
  const capped = [somebody(), somebody()]
  product.state.answer = (_call, to) => (capped.includes(to) ? graphError(400, CAPPED) : graphError(400, 131026))
  const ids = []
  for (const to of [...capped, somebody()]) ids.push(await send(service.sender, to, 'spring'))
  for (const id of ids) await reaches(id, 'failed')
  product.state.answer = accepted
  const dryRun = await cli(
    'messages',
    'requeue',
    '--state',
    'failed',
    '--sender',
    service.sender,
    '--dry-run',
    '--json',
  )
  expect(documentIn(dryRun.stdout)).toMatchObject({ skipped_capped: 2 })

  const asked = await service.request('POST', '/messages/requeue', { state: 'failed', sender: service.sender })
  const { job_id } = z.object({ data: z.object({ job_id: z.string() }) }).parse(asked.json()).data
  const job = await eventually(async () => {
    const { data } = (await service.request('GET', `/jobs/${job_id}`)).json()
    return data.state === 'done' ? data : undefined
  }, 'the job is done')
  expect(job).toMatchObject({ skipped_capped: 2 })
  expect(job.requeued).toBeGreaterThanOrEqual(1)
  await reaches(ids[2] ?? '', 'sent')
  for (const id of ids.slice(0, 2)) expect((await show(id)).state).toBe('failed')
  const said = await cli('messages', 'requeue', '--state', 'failed', '--sender', service.sender, '--yes')
  expect(said.stdout + said.stderr).toMatch(/\b2\b.*(enough|capped)/)
})

test('a cap applies to single messages and other numbers of the portfolio, not to other codes or another portfolio', async () => {
  const { cloudLane, partnerLane, cloudNumber, partnerNumber } = service.tenant
  await portfolioOf(cloudLane, partnerLane)
  const to = somebody()
  product.state.answer = () => graphError(400, CAPPED)
  const first = await reaches(await send(cloudNumber, to, 'spring'), 'failed')
  expect(first.problem).toMatchObject({ code: '131049' })
  const until = first.problem?.capped_until ?? ''
  product.state.answer = accepted

  const ofOther = await send(partnerNumber, to, 'spring')
  await eventually(async () => (await show(ofOther)).waits ?? undefined, 'it waits')
  expect((await show(ofOther)).waits).toMatchObject({ why: 'person_capped', until })
  await leaves(await send(partnerNumber, to, 'ready'))
  expect((await show(ofOther)).state).toBe('queued')

  await portfolioOf(partnerLane)
  await leaves(await send(partnerNumber, to, 'spring'))
  expect(Date.now()).toBeLessThan(Date.parse(until))

  expect((await show(ofOther)).state).toBe('queued')
  expect((await sentByOther()).filter((each) => each === to)).toHaveLength(2)
})

test('a cap ends by itself, and then waiting messages are sent', async () => {
  const { cloudLane, partnerNumber } = service.tenant
  const portfolio = await portfolioOf(cloudLane, service.tenant.partnerLane)
  const to = somebody()
  const owner = { lane: cloudLane, portfolio: { id: portfolio, dailyLimit: null, reservePercent: 0 } }
  const until = await cap(service.redis, owner, to, { forMs: SHORT_CAP_MS })
  await leaves(await send(partnerNumber, to, 'spring'))
  expect(Date.now()).toBeGreaterThanOrEqual(until)
  expect((await sentByOther()).filter((each) => each === to)).toHaveLength(1)
})

test('a worker that dies right after it stored a cap loses no wave', async () => {
  const { tag, phones } = await service.addPeople(1)
  const id = await service.ready({ tags: [tag] }, { retry_capped: { times: 1 } })
  await service.move(id, 'start')
  await service.reaches(id, 'done')
  const [message] = (await service.request('GET', `/messages?campaign=${id}`)).json().data
  const parsed = parseMessageId(message.id)
  if (parsed === undefined) throw new Error(message.id)
  const { history } = (await service.request('GET', `/messages/${message.id}`)).json().data
  const { attempt } = history.findLast((each: { attempt: string | null }) => each.attempt !== null)
  await service.stopWorker()
  const problem = { code: String(CAPPED), sentence: 'enough' }
  const how = {
    problem,
    cappedUntil: Date.now() + SHORT_CAP_MS,
    waves: { most: 1, keepMs: service.config.retentionMs },
  }
  const result = await recordStatus(service.redis, parsed, attempt, 'failed', how)
  expect(result).toMatchObject({ verdict: 'done', state: 'queued' })
  expect((await service.show(id)).progress).toMatchObject({ queued: 1, failed: 0, capped: 0 })
  await service.startWorker()
  await reaches(message.id, 'sent')
  expect(product.state.calls.filter(({ to }) => to === phones[0])).toHaveLength(2)
})

const cli = (...words: string[]) => runCli(words, service.settings)
