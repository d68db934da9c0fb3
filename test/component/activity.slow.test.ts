// Pins: what administrators do, over HTTP and on the command line, is told with who did it, to whom it concerns only, and
// without numbers that people wrote; so are keys that are refused, and no flood of them fills it. Real: Redis, HTTP, CLI.
import { PassThrough } from 'node:stream'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { changeSenderName } from '../../src/accounts/add-sender.ts'
import { AUDIT_LOG_KEPT_MS, appendToAuditLog, readAuditLog } from '../../src/accounts/audit-log.ts'
import { createCredential, revokeCredential } from '../../src/accounts/credentials.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { activity as routes } from '../../src/producer/api/activity/routes.ts'
import { createSecurityLog } from '../../src/producer/security-log.ts'
import { runCli } from '../support/cli.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { activityOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let one: Tenant
let two: Tenant
let admin: { id: string; secret: string }
let operator: string
beforeAll(async () => {
  service = await startService({ worker: false })
  one = await service.addTenant()
  two = await service.addTenant()
  admin = await createCredential(service.redis, one.account, ['admin'], Date.now(), 0, 'console of Ada')
  operator = (await createCredential(service.redis, 0, [OPERATOR], Date.now(), 0, 'Ops')).secret
})
afterAll(() => service?.close())

const activity = (key: string, query: Record<string, string> = {}) => service.api.as(key).call(routes.list, { query })
const pause = (lane: number, key: string, requestId: string) => {
  const reason = { reason: 'secret reason +491700000001' }
  return service.api.as(key).post(`/admin/lanes/${lane}/pause`, reason, { 'x-request-id': requestId })
}

test('an act over HTTP is listed with the key, the target and the request', async () => {
  expect((await pause(one.partnerLane, admin.secret, 'request-1')).status).toBe(200)
  const [latest] = (await activity(admin.secret)).data
  expect(latest).toEqual({
    at: expect.any(String),
    actor: { key_id: admin.id, key_name: 'console of Ada' },
    account: one.account,
    action: 'lane.pause',
    target: String(one.partnerLane),
    target_name: 'partner',
    detail: 'secret reason +…',
    request_id: 'request-1',
  })
  expect(Math.abs(Date.parse(latest?.at ?? '') - Date.now())).toBeLessThan(60_000)
})

test('a pause over HTTP without a reason is listed without one, and a pause on the command line with its reason', async () => {
  const env = service.settings
  const lane = String(one.cloudLane)
  await service.api.as(admin.secret).post(`/admin/lanes/${lane}/pause`)
  expect((await runCli(['lanes', 'pause', lane, '--reason', 'stock'], env)).code).toBe(0)
  expect((await activity(admin.secret)).data.slice(0, 2)).toMatchObject([
    { action: 'lane.pause', target: lane, target_name: 'cloud', detail: 'stock' },
    { action: 'lane.pause', target: lane, target_name: 'cloud', detail: null },
  ])
  const sender = await findSender(service.redis, one.cloudLane)
  if (sender !== undefined) await changeSenderName(service.redis, sender, '')
  expect((await activity(admin.secret)).data[0]?.target_name).toBe(`+${sender?.number}`)
  if (sender !== undefined) await changeSenderName(service.redis, { ...sender, name: '' }, 'cloud')
  const { stdout } = await runCli(['activity', 'list', '--account', String(one.account)], env)
  expect(stdout).toMatch(new RegExp(`lane\\.pause +${lane} cloud +stock`))
})

test('a failed act is not listed as done', async () => {
  const before = (await activity(admin.secret)).data.length
  expect((await pause(999_999, admin.secret, 'request-2')).status).toBe(404)
  expect((await activity(admin.secret)).data).toHaveLength(before)
})

test('an account sees what concerns it, also what an operator did; an operator sees everything', async () => {
  expect((await pause(two.partnerLane, operator, 'by-an-operator')).status).toBe(200)
  const theirs = await activity(await two.key('admin'))
  expect(theirs.data).toMatchObject([
    { account: two.account, actor: { key_name: 'Ops' }, request_id: 'by-an-operator' },
  ])
  expect((await activity(admin.secret)).data.filter(({ account }) => account !== one.account)).toEqual([])
  const all = (await activity(operator)).data
  expect(all.map(({ request_id }) => request_id)).toEqual(expect.arrayContaining(['request-1', 'by-an-operator']))
})

test('an act on the command line is listed with the name of the user', async () => {
  const env = service.settings
  const cli = (...words: string[]) => runCli(words, env)
  expect((await cli('lanes', 'rate', String(one.partnerLane), '40')).code).toBe(0)
  const [latest] = (await activity(admin.secret)).data
  expect(latest).toMatchObject({
    action: 'lane.rate',
    target: String(one.partnerLane),
    detail: '40/s',
    request_id: expect.any(String),
  })
  expect(z.object({ cli: z.string().min(1) }).parse(latest?.actor)).toBeDefined()
  const { stdout } = await cli('activity', 'list', '--account', String(one.account))
  expect(stdout).toContain('lane.rate')
  expect((await cli('keys', 'create', '--operator', '--name', 'Bob')).code).toBe(0)
  expect((await activity(operator)).data[0]).toMatchObject({ action: 'key.create', account: null, detail: 'operator' })
  // A list is no act.
  const before = (await activity(operator)).data.length
  expect((await cli('keys', 'list')).stdout).toContain('Bob')
  expect((await activity(operator)).data).toHaveLength(before)
})

test('a refused key is listed once, however often it is used, and the key itself is not shown', async () => {
  const gone = await createCredential(service.redis, one.account, ['admin'], Date.now(), 0, 'old one')
  await revokeCredential(service.redis, one.account, gone.id)
  const reader = await createCredential(service.redis, one.account, ['messages:read'], Date.now())
  for (let i = 0; i < 5; i += 1) {
    expect((await pause(one.partnerLane, gone.secret, 'x')).status).toBe(401)
    expect((await pause(one.partnerLane, reader.secret, 'x')).status).toBe(403)
    expect((await pause(one.partnerLane, 'lw_nobody', 'x')).status).toBe(401)
  }
  const refused = async () => {
    const all = (await activity(operator)).data.filter(({ action }) => action.endsWith('.refused'))
    return all.length >= 3 ? all : undefined
  }
  const told = await eventually(refused, 'the refusals are told')
  expect(told.map(({ actor, action, detail, account }) => ({ actor, action, detail, account }))).toEqual(
    expect.arrayContaining([
      {
        actor: { key_id: gone.id, key_name: 'old one' },
        action: 'key.refused',
        detail: 'revoked',
        account: one.account,
      },
      { actor: { key_id: reader.id, key_name: '' }, action: 'access.refused', detail: 'admin', account: one.account },
      { actor: { key_id: null, key_name: '' }, action: 'key.refused', detail: 'unknown', account: null },
    ]),
  )
  expect(told).toHaveLength(3)
  const text = JSON.stringify(await activity(operator))
  for (const secret of [gone.secret, reader.secret, admin.secret, '491700000001']) {
    expect(text).not.toContain(secret)
  }
})

test('a flood of refusals is listed at 20 lines a second, and the next line counts what was left out', async () => {
  const output = new PassThrough()
  const lines: string[] = []
  output.on('data', (line: Buffer) => lines.push(line.toString()))
  const security = createSecurityLog(service.redis, pino(output))
  const key = { id: 'key_000000000000', name: 'x', account: one.account }
  // All of them within one second, also where this process stands still meanwhile.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  try {
    for (let i = 0; i < 500; i += 1) security.keyRefused({ key, why: 'flood', requestId: 'r', address: '127.0.0.1' })
  } finally {
    clock.mockRestore()
  }
  expect(lines).toHaveLength(20)
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({
    msg: 'security.key_refused',
    ...{ key_id: key.id, why: 'flood', request_id: 'r' },
  })
  // Nobody waits for the entry of the audit log; while it is on its way the list would change under the next test.
  const isTold = async () => (await activity(operator)).data.some(({ detail }) => detail === 'flood')
  await eventually(isTold, 'the flood is told once')
})

test('pages follow each other without a gap, and a cursor that was never given out is refused', async () => {
  const seen: string[] = []
  let cursor: string | null = ''
  do {
    const page = await activity(operator, { limit: '2', ...(cursor !== '' && { cursor }) })
    expect(page.data.length).toBeLessThanOrEqual(2)
    seen.push(...page.data.map((entry) => JSON.stringify(entry)))
    cursor = page.next
  } while (cursor !== null)
  const whole = (await activity(operator, { limit: '1000' })).data.map((entry) => JSON.stringify(entry))
  expect(seen).toEqual(whole)
  for (const query of ['?cursor=x', '?limit=0', '?limit=1001', '?cursor=*', '?since=1']) {
    expect((await service.api.as(operator).get(`/admin/activity${query}`)).status, query).toBe(400)
  }
})

test('what is older than 90 days is not shown, and an account keeps at most some 10,000 lines', async () => {
  const account = 777_001
  const act = { actor: { cli: 'x' }, account, action: 'a.b', target: 'y'.repeat(10_000) }
  await appendToAuditLog(service.redis, act, Date.now())
  const read = (nowMs: number) => readAuditLog(service.redis, { account, limit: 10, cursor: undefined }, nowMs)
  const { entries } = await read(Date.now())
  expect(entries).toHaveLength(1)
  expect(entries[0]?.target).toHaveLength(200)
  expect((await read(Date.now() + AUDIT_LOG_KEPT_MS + 10_000)).entries).toEqual([])
  await Promise.all(
    Array.from({ length: 10_500 }, () => appendToAuditLog(service.redis, { ...act, target: 'y' }, Date.now())),
  )
  expect(await activityOf(service.redis, account).count()).toBeLessThan(10_200)
  expect(await activityOf(service.redis, account).livesMs()).toBeGreaterThan(0)
})
