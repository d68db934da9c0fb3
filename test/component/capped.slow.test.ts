// Pins: a person who has had enough marketing (131049) gets none until that is over, by campaign, requeue or resume; a
// campaign may try them again then; what WhatsApp holds back is counted, and a drop pauses the campaign. Real: Redis, HTTP,
// producer, worker. Stood in for: WhatsApp.
import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { importTemplate } from '../../src/accounts/templates.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { cap } from '../../src/portfolios/caps.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { SPRING, sumOf } from '../support/campaigns.ts'
import { accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { eventually } from '../support/wait.ts'

const CAP_SECONDS = 3
const CAPPED = 131049
const MOST_HELD = 20

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
beforeAll(async () => {
  world = await startCampaignsOnStandIn({
    delayMs: 10,
    env: { LANEWAY_CAP_SECONDS: String(CAP_SECONDS), LANEWAY_MOST_HELD: String(MOST_HELD) },
  })
  ;({ service, product } = world)
})
beforeEach(() => world.reset())
afterAll(() => world?.close())

const callsTo = (to: string): number => product.state.calls.filter((call) => call.to === to).length
const isOdd = (to: string): boolean => Number(to) % 2 === 1
const messagePage = z.object({ data: z.array(z.looseObject({ id: z.string(), to: z.string() })) })

async function messagesOf(campaign: string, query = '') {
  const answer = await service.request('GET', `/messages?campaign=${campaign}&limit=1000${query}`)
  return messagePage.parse(answer.json()).data
}

async function started(people: number, more: object = {}): Promise<string> {
  const { tag } = await service.addPeople(people)
  const id = await service.create({ tags: [tag] }, more)
  await service.checked(id)
  await service.move(id, 'start')
  return id
}

/** A signed webhook about a message, as WhatsApp would send it. */
async function report(message: { id: string; attempt: string }, status: string, code?: number): Promise<void> {
  const opaque = createOpaqueIds(secretKeysOf(service.config)).sign(message.id, message.attempt)
  const item = {
    ...{ id: `wamid.${message.id}`, status, timestamp: String(Math.floor(Date.now() / 1_000)) },
    biz_opaque_callback_data: opaque,
    ...(code !== undefined && { errors: [{ code, title: 'x' }] }),
  }
  const body = JSON.stringify({ entry: [{ changes: [{ field: 'messages', value: { statuses: [item] } }] }] })
  const signature = createHmac('sha256', 'app-secret').update(body).digest('hex')
  const answer = await fetch(`${service.url}/webhooks/cloud-api`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    body,
  })
  expect(answer.status).toBe(200)
}

const attemptOf = async (id: string): Promise<string> => {
  const { data } = z
    .object({ data: z.object({ history: z.array(z.object({ attempt: z.string().nullable() })) }) })
    .parse((await service.request('GET', `/messages/${id}`)).json())
  return data.history.findLast(({ attempt }) => attempt !== null)?.attempt ?? ''
}

test('a campaign of whom 40 % have had enough runs through, and says how many they are', async () => {
  product.state.answer = (call, to) => (Number(to) % 5 < 2 ? graphError(400, CAPPED) : accepted(call, to))
  // More than the hundred that a share of failures is taken over.
  const id = await started(200)
  const { progress, reason } = await service.reaches(id, 'done')
  expect(reason).toBeNull()
  expect(progress).toMatchObject({ total: 200, failed: 80, capped: 80, sent: 120 })
})

test('neither a requeue nor a resume sends to them before that is over, and both say how many they skip', async () => {
  product.state.answer = (call, to) => (isOdd(to) ? graphError(400, CAPPED) : accepted(call, to))
  const id = await started(6)
  await service.reaches(id, 'done')
  const failed = await messagesOf(id, '&state=failed')
  expect(failed).toHaveLength(3)
  const { problem } = z
    .object({ problem: z.object({ code: z.string(), capped_until: z.iso.datetime() }) })
    .parse((await service.request('GET', `/messages/${failed[0]?.id}`)).json().data)
  expect(problem.code).toBe(String(CAPPED))
  expect(Date.parse(problem.capped_until)).toBeGreaterThan(Date.now())

  product.state.answer = accepted
  const one = await service.request('POST', `/messages/${failed[0]?.id}/requeue`)
  expect([one.status, one.json().error.code]).toEqual([409, 'capped'])
  const dryRun = await service.request('POST', '/messages/requeue', { campaign: id, state: 'failed', dry_run: true })
  expect(dryRun.json().data).toMatchObject({ matched: 3, skipped_capped: 3 })
  const resumed = await service.move(id, 'resume', { class: 'failed' })
  const blocked = await service.reaches(resumed.id, 'blocked')
  expect(blocked.preflight).toMatchObject({ recipients: 0, skipped_capped: 3 })
  for (const { to } of failed) expect(callsTo(to)).toBe(1)

  await eventually(async () => Date.now() > Date.parse(problem.capped_until) || undefined, 'the cap is over', 10_000)
  const again = await service.request('POST', `/messages/${failed[0]?.id}/requeue`)
  expect(again.status, again.text).toBe(200)
  await eventually(async () => callsTo(failed[0]?.to ?? '') === 2 || undefined, 'it is sent again')
  expect((await service.show(id)).progress).toMatchObject({ failed: 2, capped: 2 })
})

test('a campaign of a utility template reaches them, and so do its requeue and its run again', async () => {
  const { redis, tenant } = service
  const notice = { ...SPRING, name: 'notice', category: 'UTILITY' }
  await importTemplate(redis, tenant.account, templateSchema.parse(notice))
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: { from: 'contact.name' } }] }]
  const template = { name: 'notice', language: { code: 'en_US' }, components }
  product.state.answer = () => graphError(400, 131026)
  const id = await started(3, { template })
  await service.reaches(id, 'done')
  const failed = await messagesOf(id, '&state=failed')
  expect(failed).toHaveLength(3)
  for (const { to } of failed) await cap(redis, { lane: tenant.cloudLane }, to, { forMs: 120_000 })

  product.state.answer = accepted
  const [first, ...others] = failed
  const one = await service.request('POST', `/messages/${first?.id}/requeue`)
  expect(one.status, one.text).toBe(200)
  await eventually(async () => callsTo(first?.to ?? '') === 2 || undefined, 'it is sent again')
  const dryRun = await service.request('POST', '/messages/requeue', { campaign: id, state: 'failed', dry_run: true })
  expect(dryRun.json().data).toMatchObject({ matched: 2, skipped_capped: 0 })
  const again = await service.move(id, 'resume', { class: 'failed' })
  const { preflight, progress } = await service.reaches(again.id, 'done')
  expect([preflight, progress]).toMatchObject([{ recipients: 2, skipped_capped: 0 }, { sent: 2 }])
  for (const { to } of others) expect(callsTo(to)).toBe(2)
})

test('a campaign that asks for waves tries them again when it is over, and the last outcome counts', async () => {
  const seen = new Map<string, number[]>()
  product.state.answer = (call, to) => {
    const times = [...(seen.get(to) ?? []), Date.now()]
    seen.set(to, times)
    return isOdd(to) && times.length === 1 ? graphError(400, CAPPED) : accepted(call, to)
  }
  const id = await started(4, { retry_capped: { times: 2 } })
  await eventually(async () => (await service.show(id)).progress.sent === 4 || undefined, 'all are sent', 30_000)
  for (const [to, times] of seen) {
    expect(times).toHaveLength(isOdd(to) ? 2 : 1)
    if (isOdd(to)) expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(CAP_SECONDS * 1_000 - 50)
  }
  expect((await service.show(id)).progress).toMatchObject({ failed: 0, capped: 0 })
})

test('as often as it asks for, and no oftener', async () => {
  product.state.answer = () => graphError(400, CAPPED)
  const id = await started(1, { retry_capped: { times: 1 } })
  await eventually(async () => (await service.show(id)).progress.queued === 1 || undefined, 'it waits for its wave')
  expect(await service.show(id)).toMatchObject({ state: 'running', progress: { failed: 0, capped: 0 } })
  await eventually(async () => product.state.calls.length === 2 || undefined, 'one wave', 30_000)
  // Over only with its last wave, and told once.
  const { progress } = await service.reaches(id, 'done')
  expect(progress).toMatchObject({ failed: 1, capped: 1, queued: 0 })
  expect(product.state.calls).toHaveLength(2)
})

test('not beyond the validity of the campaign', async () => {
  product.state.answer = () => graphError(400, CAPPED)
  const valid_until = new Date(Date.now() + CAP_SECONDS * 1_000 - 500).toISOString()
  const id = await started(1, { retry_capped: { times: 7 }, valid_until })
  expect((await service.reaches(id, 'done')).progress).toMatchObject({ failed: 1, capped: 1, expired: 0 })
  expect(product.state.calls).toHaveLength(1)
})

test('one that WhatsApp reports later, twice, is tried again once', async () => {
  const id = await started(1, { retry_capped: { times: 3 } })
  await service.reaches(id, 'done')
  const [message] = await messagesOf(id)
  const sent = { id: message?.id ?? '', attempt: await attemptOf(message?.id ?? '') }
  await report(sent, 'failed', CAPPED)
  await report(sent, 'failed', CAPPED)
  await eventually(async () => product.state.calls.length === 2 || undefined, 'the wave', 30_000)
  await eventually(async () => (await service.show(id)).progress.sent === 1 || undefined, 'it is sent')
  expect(product.state.calls).toHaveLength(2)
})

test('who has had enough keeps nobody waiting who stands behind them in the list', async () => {
  const { tag, phones } = await service.addPeople(400)
  const { redis, lane } = service
  await Promise.all(phones.slice(0, 350).map((phone) => cap(redis, { lane }, phone, { forMs: 30_000 })))
  const id = await service.ready({ tags: [tag] })
  await service.move(id, 'start')
  await eventually(async () => (await service.show(id)).progress.sent === 50 || undefined, 'the others are sent')
  const { progress } = await service.show(id)
  expect(progress).toMatchObject({ sent: 50, queued: 350, failed: 0 })
  expect((await service.reaches(id, 'done', 120_000)).progress).toMatchObject({ sent: 400 })
})

const held = (call: number, to: string) => {
  const answer = accepted(call, to)
  const body = JSON.parse(answer.body)
  body.messages[0].message_status = 'held_for_quality_assessment'
  return { ...answer, body: JSON.stringify(body) }
}

test('what WhatsApp holds counts as sent and held until it says that it was sent', async () => {
  product.state.answer = held
  const id = await started(2)
  await service.reaches(id, 'done')
  expect((await service.show(id)).progress).toMatchObject({ sent: 2, held: 2 })
  const [one, other] = await messagesOf(id)
  expect(one).toMatchObject({ held_since: expect.any(String) })
  await report({ id: one?.id ?? '', attempt: await attemptOf(one?.id ?? '') }, 'sent')
  expect((await service.show(id)).progress).toMatchObject({ sent: 2, held: 1 })
  await report({ id: other?.id ?? '', attempt: await attemptOf(other?.id ?? '') }, 'delivered')
  expect((await service.show(id)).progress).toMatchObject({ sent: 1, delivered: 1, held: 0 })
})

test('while messages are held, so many are out at most; the rest waits, every figure adds up, and all leave in the end', async () => {
  product.state.answer = held
  const id = await started(150)
  const isRight = async () => {
    const shown = await service.show(id)
    expect(sumOf(shown)).toBe(150)
    const { sent, held: kept } = shown.progress
    expect(kept).toBeLessThanOrEqual(Number(sent))
    return shown
  }
  const waits = await eventually(async () => {
    const { progress, ...rest } = await isRight()
    const found = z.looseObject({ waits: z.looseObject({ why: z.string() }).nullable() }).parse(rest).waits
    return found?.why === 'held' && progress.sending === 0 ? found : undefined
  }, 'it waits for held ones')
  expect(waits.until).not.toBeNull()
  const out = product.state.calls.length
  // Those that had left before the first answer said so.
  expect(out).toBeLessThan(MOST_HELD + 60)
  expect(out).toBeGreaterThanOrEqual(MOST_HELD)
  const reported = new Set<string>()
  await eventually(
    async () => {
      for (const each of await messagesOf(id, '&state=sent')) {
        if (reported.has(each.id)) continue
        await report({ id: each.id, attempt: await attemptOf(each.id) }, 'sent')
        reported.add(each.id)
        // Never more than that at once from now on.
        if (product.state.calls.length > out)
          expect(product.state.calls.length - reported.size).toBeLessThanOrEqual(out)
      }
      return (await isRight()).state === 'done' ? true : undefined
    },
    'all are sent',
    45_000,
  )
  const { progress } = await isRight()
  expect(progress).toMatchObject({ sent: 150, failed: 0 })
})

test.each([132015, 135000])('a held one that is dropped (%i) has failed, and pauses its campaign', async (code) => {
  product.state.answer = (call, to) => (Number(to) % 400 === 0 ? held : accepted)(call, to)
  const id = await started(400)
  const first = await eventually(async () => (await messagesOf(id)).find((each) => 'held_since' in each), 'one is held')
  await report({ id: first.id, attempt: await attemptOf(first.id) }, 'failed', code)
  const { reason, progress } = await service.reaches(id, 'paused', 20_000)
  expect(reason).toMatch(/^template_paused/)
  expect(progress).toMatchObject({ failed: 1, held: 0 })
  await service.move(id, 'cancel')
})
