// Pins: portfolios are managed over HTTP as on the command line, by their own account only, and a sender of the account is
// put into one. Real: Redis, HTTP, producer, CLI.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { errorOf } from '../support/api-error.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

let service: Service
let one: Tenant
let two: Tenant
const keys = new Map<number, string>()
beforeAll(async () => {
  service = await startService({ worker: false })
  one = await service.addTenant()
  two = await service.addTenant()
  for (const { account } of [one, two]) {
    keys.set(account, (await createCredential(service.redis, account, ['admin'], Date.now())).secret)
  }
})
afterAll(() => service?.close())

const ask = (of: Tenant, method: string, path: string, body?: object, headers: Record<string, string> = {}) =>
  service.api.as(keys.get(of.account)).request(method, path, body, headers)
const made = z.object({ data: z.looseObject({ id: z.int() }) })
const create = async (of: Tenant, body: object) =>
  made.parse((await ask(of, 'POST', '/admin/portfolios', body)).json).data
const cli = (...words: string[]) => runCli(words, service.settings)

test('a portfolio is created once per Idempotency-Key, listed, changed and removed', async () => {
  const once = { 'idempotency-key': 'shop' }
  const first = await ask(one, 'POST', '/admin/portfolios', { name: 'Shop', daily_limit: 250 }, once)
  const again = await ask(one, 'POST', '/admin/portfolios', { name: 'Shop', daily_limit: 250 }, once)
  const { id } = made.parse(first.json).data
  expect([first.status, again.status, made.parse(again.json).data.id]).toEqual([201, 201, id])
  const created = {
    ...{ id, account: one.account, name: 'Shop', daily_limit: 250, reserve_percent: 10 },
    ...{ used: 0, free_at: null },
  }
  expect((await ask(one, 'GET', '/admin/portfolios')).json).toMatchObject({ data: [created] })
  const changes = { daily_limit: null, reserve_percent: 25 }
  const changed = await ask(one, 'PATCH', `/admin/portfolios/${id}`, changes)
  expect(changed.json).toMatchObject({ data: { ...created, ...changes } })
  expect((await ask(one, 'GET', `/admin/portfolios/${id}`)).json).toMatchObject({ data: { ...created, ...changes } })
  expect((await ask(one, 'DELETE', `/admin/portfolios/${id}`)).status).toBe(200)
  expect((await ask(one, 'GET', `/admin/portfolios/${id}`)).status).toBe(404)
})

test.each<[string, object]>([
  ['no name', { daily_limit: 10 }],
  ['a limit of nobody', { name: 'x', daily_limit: 0 }],
  ['a reserve of more than all', { name: 'x', reserve_percent: 101 }],
  ['an unknown field', { name: 'x', limit: 5 }],
])('a portfolio with %s is refused', async (_what, body) => {
  expect((await ask(one, 'POST', '/admin/portfolios', body)).status).toBe(400)
})

test('a portfolio cannot be read, changed, removed or joined from another account', async () => {
  const { id } = await create(one, { name: 'Private' })
  for (const [method, body] of [['GET'], ['PATCH', { name: 'Mine' }], ['DELETE']] as const) {
    expect((await ask(two, method, `/admin/portfolios/${id}`, body)).status).toBe(404)
  }
  expect((await ask(two, 'GET', '/admin/portfolios')).json).toMatchObject({ data: [] })
  const joined = await ask(two, 'PATCH', `/admin/senders/${two.cloudLane}`, { portfolio: id })
  expect(joined.status).toBe(400)
  expect(errorOf(joined)).toMatchObject({ details: [{ path: 'portfolio' }] })
  expect(await findSender(service.redis, two.cloudLane)).toMatchObject({ portfolio: null })
})

test('a portfolio cannot be removed while a sender belongs to it', async () => {
  const { id } = await create(one, { name: 'Used' })
  const sender = `/admin/senders/${one.cloudLane}`
  expect((await ask(one, 'PATCH', sender, { portfolio: id })).json).toMatchObject({ data: { portfolio: id } })
  const refused = await ask(one, 'DELETE', `/admin/portfolios/${id}`)
  expect([refused.status, errorOf(refused).code]).toEqual([409, 'portfolio_in_use'])
  expect((await ask(one, 'PATCH', sender, { portfolio: null })).json).toMatchObject({ data: { portfolio: null } })
  expect((await ask(one, 'DELETE', `/admin/portfolios/${id}`)).status).toBe(200)
})

test('a portfolio is managed on the command line as well', async () => {
  const account = String(two.account)
  const lane = String(two.cloudLane)
  const created = await cli(
    'portfolios',
    'create',
    '--account',
    account,
    '--name',
    'Shop',
    '--daily-limit',
    '10000',
    '--json',
  )
  const { id } = z.object({ id: z.int() }).parse(documentIn(created.stdout))
  expect((await cli('senders', 'set', lane, 'portfolio', String(id))).stdout).toMatch(
    new RegExp(`\nportfolio +${id}\n`),
  )
  expect((await cli('portfolios', 'set', String(id), '--daily-limit', 'none', '--reserve-percent', '20')).code).toBe(0)
  const listed = await cli('portfolios', 'list', '--account', account)
  expect(listed.stdout).toMatch(new RegExp(`^${id} +${account} +Shop +none +20 % +0 +none +0$`, 'm'))
  expect(await cli('portfolios', 'remove', String(id))).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(lane),
  })
  expect((await cli('senders', 'set', lane, 'portfolio', 'none')).code).toBe(0)
  expect((await cli('portfolios', 'remove', String(id))).code).toBe(0)
  expect(await cli('portfolios', 'set', String(id))).toMatchObject({ code: 2 })
  expect(await cli('senders', 'set', lane, 'portfolio', '999')).toMatchObject({ code: 1 })
  expect(await cli('senders', 'set', lane, 'portfolio', 'shop')).toMatchObject({ code: 2 })
})
