// Pins: a person who has had enough marketing (131049) gets none until that is over, by campaign, requeue or resume; a
// campaign may try them again then; what WhatsApp holds back is counted, and a drop pauses the campaign. Real: Redis, HTTP,
// producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { importTemplate } from '../../src/accounts/templates.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { askToReopen } from '../../src/lanes/wake.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { cap, forgetCap } from '../../src/portfolios/caps.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { SPRING, sumOf } from '../support/campaigns.ts'
import { type Answering, accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { ownAct } from '../support/own-acts.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

const CAP_SECONDS = 3
const CAPPED = 131049
const MOST_HELD = 20

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
/** What requests to a person are answered; accepted unless it says otherwise. Tests run side by side. */
const answers = new Map<string, Answering>()
beforeAll(async () => {
  world = await startCampaignsOnStandIn({
    delayMs: 10,
    env: { LANEWAY_CAP_SECONDS: String(CAP_SECONDS), LANEWAY_MOST_HELD: String(MOST_HELD) },
  })
  ;({ service, product } = world)
  product.state.answer = (call, to, template) => (answers.get(to) ?? accepted)(call, to, template)
})
afterAll(() => world?.close())

function callsTo(...people: string[]): number {
  const these = new Set(people)
  return product.state.calls.filter(({ to }) => these.has(to)).length
}
const isOdd = (to: string): boolean => Number(to) % 2 === 1
const messagePage = z.object({ data: z.array(z.looseObject({ id: z.string(), to: z.string() })) })

async function messagesOf(campaign: string, query = '') {
  const answer = await service.request('GET', `/messages?campaign=${campaign}&limit=1000${query}`)
  return messagePage.parse(answer.json()).data
}

/** A campaign to so many new people, to whom WhatsApp answers this. */
async function started(
  people: number,
  answer: Answering,
  more: object = {},
): Promise<{ id: string; phones: string[] }> {
  const { tag, phones } = await service.addPeople(people)
  for (const phone of phones) answers.set(phone, answer)
  const id = await service.create({ tags: [tag] }, more)
  await service.checked(id)
  await service.move(id, 'start')
  return { id, phones }
}
const refused: Answering = () => graphError(400, CAPPED)

/** A signed webhook about a message, as WhatsApp would send it. */
async function report(message: { id: string; attempt: string }, status: string, code?: number): Promise<void> {
  const opaque = createOpaqueIds(secretKeysOf(service.config)).sign(message.id, message.attempt)
  const item = {
    ...{ id: `wamid.${message.id}`, status, timestamp: String(Math.floor(Date.now() / 1_000)) },
    biz_opaque_callback_data: opaque,
    ...(code !== undefined && { errors: [{ code, title: 'x' }] }),
  }
  const body = JSON.stringify({ entry: [{ changes: [{ field: 'messages', value: { statuses: [item] } }] }] })
  expect((await postSigned(`${service.url}/webhooks/cloud-api`, body)).status).toBe(200)
}

const attemptOf = async (id: string): Promise<string> => {
  const parsed = parseMessageId(id)
  return (parsed && (await readMessage(service.redis, parsed)))?.attempt ?? ''
}

test.concurrent('a campaign with 40 % of its people capped finishes, and reports how many they are', async () => {
  // More than the hundred that a share of failures is taken over.
  const { id } = await started(120, (call, to) => (Number(to) % 5 < 2 ? graphError(400, CAPPED) : accepted(call, to)))
  const { progress, reason } = await service.reaches(id, 'done')
  expect(reason).toBeNull()
  expect(progress).toMatchObject({ total: 120, failed: 48, capped: 48, sent: 72 })
})

test.concurrent('neither a requeue nor a resume sends to capped people before the cap is over, and both report how many they skip', async () => {
  const beganMs = Date.now()
  const { id } = await started(6, (call, to) => (isOdd(to) ? graphError(400, CAPPED) : accepted(call, to)))
  await service.reaches(id, 'done')
  const failed = await messagesOf(id, '&state=failed')
  expect(failed).toHaveLength(3)
  // They have had enough for longer than the rest of this takes.
  for (const { to } of failed) await cap(service.redis, { lane: service.lane }, to, { forMs: 600_000 })
  const { problem } = z
    .object({ problem: z.object({ code: z.string(), capped_until: z.iso.datetime() }) })
    .parse((await service.request('GET', `/messages/${failed[0]?.id}`)).json().data)
  expect(problem.code).toBe(String(CAPPED))
  expect(Date.parse(problem.capped_until)).toBeGreaterThanOrEqual(beganMs + CAP_SECONDS * 1_000)

  for (const { to } of failed) answers.set(to, accepted)
  const one = await service.request('POST', `/messages/${failed[0]?.id}/requeue`)
  expect([one.status, one.json().error.code]).toEqual([409, 'capped'])
  const dryRun = await service.request('POST', '/messages/requeue', { campaign: id, state: 'failed', dry_run: true })
  expect(dryRun.json().data).toMatchObject({ matched: 3, skipped_capped: 3 })
  const resumed = await service.move(id, 'resume', { class: 'failed' })
  const blocked = await service.reaches(resumed.id, 'blocked')
  expect(blocked.preflight).toMatchObject({ recipients: 0, skipped_capped: 3 })
  for (const { to } of failed) expect(callsTo(to)).toBe(1)

  await forgetCap(service.redis, { lane: service.lane }, [failed[0]?.to ?? ''])
  const again = await service.request('POST', `/messages/${failed[0]?.id}/requeue`)
  expect(again.status, again.text).toBe(200)
  await eventually(async () => callsTo(failed[0]?.to ?? '') === 2 || undefined, 'it is sent again')
  expect((await service.show(id)).progress).toMatchObject({ failed: 2, capped: 2 })
})

test.concurrent('a campaign of a utility template reaches capped people, and so do its requeue and its new run', async () => {
  const { redis, tenant } = service
  const notice = { ...SPRING, name: 'notice', category: 'UTILITY' }
  await importTemplate(redis, tenant.account, templateSchema.parse(notice))
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: { from: 'contact.name' } }] }]
  const template = { name: 'notice', language: { code: 'en_US' }, components }
  const { id, phones } = await started(3, () => graphError(400, 131026), { template })
  await service.reaches(id, 'done')
  const failed = await messagesOf(id, '&state=failed')
  expect(failed).toHaveLength(3)
  for (const { to } of failed) await cap(redis, { lane: tenant.cloudLane }, to, { forMs: 120_000 })

  for (const phone of phones) answers.set(phone, accepted)
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

test.concurrent('a campaign with waves tries capped people again after the cap, and the last outcome counts', async () => {
  const seen = new Map<string, number[]>()
  const answer: Answering = (call, to) => {
    const times = [...(seen.get(to) ?? []), Date.now()]
    seen.set(to, times)
    return isOdd(to) && times.length === 1 ? graphError(400, CAPPED) : accepted(call, to)
  }
  const { id } = await started(4, answer, { retry_capped: { times: 2 } })
  await eventually(async () => (await service.show(id)).progress.sent === 4 || undefined, 'all are sent', 30_000)
  for (const [to, times] of seen) {
    expect(times).toHaveLength(isOdd(to) ? 2 : 1)
    if (isOdd(to)) expect((times[1] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(CAP_SECONDS * 1_000 - 50)
  }
  expect((await service.show(id)).progress).toMatchObject({ failed: 0, capped: 0 })
})

test.concurrent('capped people are tried again as often as the campaign asks for, and no more', async () => {
  const { id, phones } = await started(1, refused, { retry_capped: { times: 1 } })
  // One look for all: three seconds later it may be over.
  const waits = await eventually(async () => {
    const isTried = callsTo(...phones) === 1
    const now = await service.show(id)
    return isTried && now.progress.queued === 1 && now
  }, 'it waits for its wave')
  expect(waits).toMatchObject({ state: 'running', progress: { failed: 0, capped: 0 } })
  await eventually(async () => callsTo(...phones) === 2 || undefined, 'one wave', 30_000)
  // Over only with its last wave, and told once.
  const { progress } = await service.reaches(id, 'done')
  expect(progress).toMatchObject({ failed: 1, capped: 1, queued: 0 })
  expect(callsTo(...phones)).toBe(2)
})

test.concurrent('a cap that WhatsApp reports later, and twice, causes one retry', async () => {
  const { id, phones } = await started(1, accepted, { retry_capped: { times: 3 } })
  await service.reaches(id, 'done')
  const [message] = await messagesOf(id)
  const sent = { id: message?.id ?? '', attempt: await attemptOf(message?.id ?? '') }
  await report(sent, 'failed', CAPPED)
  await report(sent, 'failed', CAPPED)
  await eventually(async () => callsTo(...phones) === 2 || undefined, 'the wave', 30_000)
  await eventually(async () => (await service.show(id)).progress.sent === 1 || undefined, 'it is sent')
  expect(callsTo(...phones)).toBe(2)
})

test.concurrent('capped people do not delay those after them in the list', async () => {
  const { tag, phones } = await service.addPeople(400)
  const { redis, lane } = service
  const [soon, late, others] = [phones.slice(0, 10), phones.slice(10, 350), phones.slice(350)]
  await Promise.all(late.map((phone) => cap(redis, { lane }, phone, { forMs: 3_600_000 })))
  const id = await service.ready({ tags: [tag] })
  const untils = await Promise.all(soon.map((phone) => cap(redis, { lane }, phone, { forMs: 3_000 })))
  for (const phone of soon)
    answers.set(phone, (call, to) => (Date.now() < Math.min(...untils) ? refused : accepted)(call, to, ''))
  await service.move(id, 'start')
  await eventually(async () => callsTo(...others) === 50 || undefined, 'the others are sent')
  // And they themselves once it is over.
  await eventually(async () => (await service.show(id)).progress.sent === 60 || undefined, 'ten more are sent')
  expect((await service.show(id)).progress).toMatchObject({ sent: 60, queued: 340, failed: 0 })
  await service.move(id, 'cancel')
  expect(callsTo(...phones)).toBe(60)
})

test('capped people are not tried again after the validity of the campaign', async () => {
  // Where people have had enough for longer than it is valid.
  const other = await startCampaignsOnStandIn({ delayMs: 10, env: { LANEWAY_CAP_SECONDS: '3600' } })
  other.product.state.answer = refused
  const { tag } = await other.service.addPeople(1)
  const valid_until = new Date(Date.now() + 1_800_000).toISOString()
  const id = await other.service.ready({ tags: [tag] }, { retry_capped: { times: 7 }, valid_until })
  await other.service.move(id, 'start')
  const { progress } = await other.service.reaches(id, 'done')
  await other.close()
  expect(progress).toMatchObject({ failed: 1, capped: 1, expired: 0 })
  expect(other.product.state.calls.length).toBe(1)
})

const held: Answering = (call, to) => {
  const answer = accepted(call, to)
  const body = JSON.parse(answer.body)
  body.messages[0].message_status = 'held_for_quality_assessment'
  return { ...answer, body: JSON.stringify(body) }
}

test('a held message counts as sent and as held until WhatsApp reports it as sent', async () => {
  const { id } = await started(2, held)
  await service.reaches(id, 'done')
  expect((await service.show(id)).progress).toMatchObject({ sent: 2, held: 2 })
  const [one, other] = await messagesOf(id)
  expect(one).toMatchObject({ held_since: expect.any(String) })
  await report({ id: one?.id ?? '', attempt: await attemptOf(one?.id ?? '') }, 'sent')
  expect((await service.show(id)).progress).toMatchObject({ sent: 2, held: 1 })
  await report({ id: other?.id ?? '', attempt: await attemptOf(other?.id ?? '') }, 'delivered')
  expect((await service.show(id)).progress).toMatchObject({ sent: 1, delivered: 1, held: 0 })
})

test('only so many messages are held at a time; the rest waits, the figures add up, and all leave in the end', async () => {
  // One is held before: however late the worker reads the answers, it knows that some are.
  const first = await started(1, held)
  await service.reaches(first.id, 'done')
  const { id, phones } = await started(100, held)
  const isRight = async () => {
    const shown = await service.show(id)
    expect(sumOf(shown)).toBe(100)
    const { sent, held: kept } = shown.progress
    expect(kept).toBeLessThanOrEqual(Number(sent))
    return shown
  }
  const waits = await eventually(async () => {
    const { progress, ...rest } = await isRight()
    const found = z.looseObject({ waits: z.looseObject({ why: z.string() }).nullable() }).parse(rest).waits
    // It waits from the check of those for which there is room, which leave a moment later.
    const areOut = callsTo(...phones) === MOST_HELD - 1 && progress.sending === 0
    return found?.why === 'held' && areOut ? found : undefined
  }, 'it waits for held ones, with as many out as may be')
  expect(waits.until).not.toBeNull()
  const out = MOST_HELD - 1
  const [before] = await messagesOf(first.id)
  await report({ id: before?.id ?? '', attempt: await attemptOf(before?.id ?? '') }, 'sent')
  const reported = new Set<string>()
  await eventually(
    async () => {
      for (const each of await messagesOf(id, '&state=sent')) {
        if (reported.has(each.id)) continue
        await report({ id: each.id, attempt: await attemptOf(each.id) }, 'sent')
        reported.add(each.id)
        // Never more than that at once from now on.
        if (callsTo(...phones) > out) expect(callsTo(...phones) - reported.size).toBeLessThanOrEqual(MOST_HELD)
      }
      // Otherwise it looks again within ten seconds.
      await askToReopen(service.redis, service.lane)
      return (await isRight()).state === 'done' ? true : undefined
    },
    'all are sent',
    45_000,
  )
  const { progress } = await isRight()
  expect(progress).toMatchObject({ sent: 100, failed: 0 })
})

test.each([132015, 135000])('a dropped held message (%i) counts as failed, and pauses its campaign', async (code) => {
  let first: string | undefined
  const answer: Answering = (call, to, template) => {
    first ??= to
    return (to === first ? held : accepted)(call, to, template)
  }
  // More than it can have sent by the time that WhatsApp drops the first, on however slow a machine.
  const { id } = await started(4_000, answer)
  const dropped = await eventually(async () => {
    const [one] = first === undefined ? [] : await messagesOf(id, `&to=${first}`)
    return one && 'held_since' in one && one
  }, 'one is held')
  await report({ id: dropped.id, attempt: await attemptOf(dropped.id) }, 'failed', code)
  const { reason, progress } = await service.reaches(id, 'paused', 20_000)
  expect(reason).toMatch(/^template_paused/)
  expect(await ownAct(service.redis, 'campaign.pause', id)).toMatchObject({ detail: reason })
  expect(progress).toMatchObject({ failed: 1, held: 0 })
  await service.move(id, 'cancel')
})
