// Pins what the queue dashboard gives away and what it refuses: it is for looking only, for
// operators with a session, and no number, no text and no id of another account is in anything it answers.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { openMoveQueue } from '../../src/gallery/moves.ts'
import { MOVE_QUEUE, newMoveId } from '../../src/jobs/background.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { senderRecord } from '../support/state/accounts.ts'
import { addSilently, deadLettersOn, shownAs } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const CANARY = 'canary text'
const CANARY_NUMBER = '447700900987'
const FILE_IDS = [123_450_001, 123_450_002]

const board = z.object({
  queues: z.array(z.object({ name: z.string(), jobs: z.array(z.looseObject({ id: z.string() })) })),
})

let service: Service
let tenant: Tenant
let other: Tenant
let session: { cookie: string }
let ours: string
let theirs: string
let waiting: string
const poison = messageId(1, newUlid(Date.now()))

/** As an operator sees it who acts for this account. */
const look = (path: string, account: string, method = 'GET') =>
  fetch(`${service.url}/dashboard${path}`, { method, headers: { ...session, 'x-laneway-account': account } })
const jobsOf = async (queue: string, account: string, status = 'latest') => {
  const answer = await look(`/api/queues?activeQueue=${queue}&status=${status}&page=1&jobsPerPage=100`, account)
  const text = await answer.text()
  return { text, jobs: board.parse(JSON.parse(text)).queues.find(({ name }) => name === queue)?.jobs }
}

beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  other = await service.addTenant()
  session = await sessionHeader(service.redis)
  ours = String(tenant.account)
  theirs = String(other.account)
  const lanes = openLaneQueues(service.redis)
  await addSilently(service.redis, tenant.partnerLane, poison, {
    v: 1,
    to: CANARY_NUMBER,
    class: 'transactional',
    content: { type: 'image', image: { link: CANARY } },
    until: Date.now() + 60_000,
  })
  lanes.wake(tenant.partnerLane)
  await eventually(
    async () => (await deadLettersOn(service.redis, tenant.partnerLane)) === 1,
    'the message whose link is none is a dead letter',
  )
  await service.stopWorker()
  waiting = messageId(tenant.partnerLane, newUlid(Date.now()))
  await lanes.add(waiting, {
    v: 1,
    to: CANARY_NUMBER,
    class: 'transactional',
    content: { type: 'image', image: { link: 'https://shop.example/spring.png', caption: CANARY } },
    until: Date.now() + 60_000,
  })
  const moves = openMoveQueue(service.redis)
  await moves.add({
    v: 1,
    account: tenant.account,
    move: newMoveId(Date.now()),
    file_ids: FILE_IDS,
    folder_id: 123_450_003,
  })
  await moves.close()
  await lanes.close()
})
afterAll(() => service?.close())

test('a request without a session is led to sign in, whatever key is sent', async () => {
  const operator = (await createCredential(service.redis, NO_ACCOUNT, [OPERATOR], Date.now())).secret
  const basic = (key: string) => `Basic ${Buffer.from(`anybody:${key}`).toString('base64')}`
  const admin = await tenant.key('admin')
  for (const authorization of [undefined, basic(operator), `Bearer ${operator}`, basic(admin), `Bearer ${admin}`]) {
    const headers = authorization === undefined ? undefined : { authorization }
    for (const path of ['', '/api/queues']) {
      const answer = await fetch(`${service.url}/dashboard${path}`, headers && { headers })
      expect(answer.status).toBe(401)
      expect(answer.headers.get('www-authenticate') ?? '').not.toMatch(/Basic/)
      expect(await answer.json()).toMatchObject({ message: expect.stringContaining('Sign in to /console') })
    }
  }
})

test('a session of an account is refused, one of an operator is accepted, and an ended one counts as none', async () => {
  const statusWith = async (headers: { cookie: string }) =>
    (await fetch(`${service.url}/dashboard/api/queues`, { headers })).status
  expect(await statusWith(await sessionHeader(service.redis, await tenant.key('admin')))).toBe(403)
  expect(await statusWith(await sessionHeader(service.redis, tenant.apiKey))).toBe(403)
  expect(await statusWith(session)).toBe(200)
  expect(await statusWith({ cookie: `laneway_session=${'A'.repeat(43)}` })).toBe(401)
})

test('the page comes with its script', async () => {
  const page = await (await fetch(`${service.url}/dashboard/`, { headers: session })).text()
  const script = /src="([^"]+\.js)"/.exec(page)?.[1] ?? ''
  const answer = await fetch(new URL(script, `${service.url}/dashboard/`), { headers: session })
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('javascript')])
})

test('a page of another site gets nothing with the cookie', async () => {
  const headers = { ...session, 'sec-fetch-site': 'cross-site' }
  expect((await fetch(`${service.url}/dashboard/api/queues`, { headers })).status).toBe(403)
})

test("an operator who names an account sees its lanes, and not even the names of another account's", async () => {
  const queue = shownAs(tenant.partnerLane)
  expect((await jobsOf(queue, ours)).jobs?.map(({ id }) => id)).toContain(waiting)
  expect((await jobsOf(queue, theirs)).jobs).toBeUndefined()
  for (const path of ['', `/${waiting}`, `/${waiting}/logs`, `/${waiting}/flow`, '/metrics', '/rate-limit']) {
    expect((await look(`/api/queues/${queue}${path}`, theirs)).status).toBe(404)
  }
})

test('a move is shown to everybody as waiting, and its job to nobody', async () => {
  for (const key of [ours, theirs]) {
    const { text, jobs } = await jobsOf(MOVE_QUEUE, key)
    expect(jobs).toEqual([])
    expect(text).not.toContain('12345000')
    const counts = z.object({ queues: z.array(z.looseObject({ name: z.string(), counts: z.looseObject({}) })) })
    const found = counts.parse(JSON.parse(text)).queues.find(({ name }) => name === MOVE_QUEUE)
    expect(found?.counts.waiting).toBe(1)
  }
})

describe('numbers and text are hidden', () => {
  test.each(['latest', 'waiting', 'failed'])('in the list of jobs (%s)', async (status) => {
    const { text, jobs } = await jobsOf(shownAs(tenant.partnerLane), ours, status)
    expect(jobs?.length).toBeGreaterThan(0)
    expect(text).not.toContain(CANARY)
    expect(text).not.toContain(CANARY_NUMBER)
  })

  test.each(['', '/logs', '/flow'])('in a single job (%s)', async (path) => {
    for (const id of [waiting, poison]) {
      const answer = await look(`/api/queues/${shownAs(tenant.partnerLane)}/${id}${path}`, ours)
      expect(answer.status).toBe(200)
      const text = await answer.text()
      expect(text).not.toContain(CANARY)
      expect(text).not.toContain(CANARY_NUMBER)
    }
  })
})

test.each([
  ['PUT', '/api/queues/pause'],
  ['PUT', '/api/queues/resume'],
  ['POST', '/api/queues/lane-1/add'],
  ['PUT', '/api/queues/lane-1/obliterate'],
  ['PATCH', '/api/queues/lane-1/x/update-data'],
  ['DELETE', '/api/queues/lane-1'],
])('%s %s is refused, also for an operator', async (method, path) => {
  const answer = await look(path, ours, method)
  expect(answer.status).toBe(405)
  expect(answer.headers.get('allow')).toBe('GET')
})

test('a sender with a broken record hides no queue of another account', async () => {
  const broken = await service.addTenant()
  await senderRecord(service.redis, broken.partnerLane).change({ rate: 'fast' })
  const answer = await look('/api/queues', ours)
  expect(answer.status, await answer.clone().text()).toBe(200)
  const queues = board.parse(await answer.json()).queues.map(({ name }) => name)
  expect(queues).toContain(`lane-${tenant.partnerLane}`)
})
