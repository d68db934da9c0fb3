// Pins the operations of the client for Node: each is there, typed by the table of routes, and reaches its address.
import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, expect, expectTypeOf, test } from 'vitest'
import { connectLaneway, type LanewayOverHttp } from '../../packages/client/src/connect.ts'
import { LanewayRefused } from '../../packages/client/src/errors.ts'
import { everyEntry } from '../../packages/client/src/operations.ts'
import { FAMILIES } from '../../src/producer/api/table.ts'
import type { RouteSpec } from '../../src/producer/route.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

let service: Service
let tenant: Tenant
let laneway: LanewayOverHttp
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
  laneway = await connectLaneway({ url: service.url, apiKey: tenant.apiKey })
})
afterAll(async () => {
  await laneway?.close()
  await service?.close()
})

test('addresses.ts is what the table has', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/client-addresses.mjs', '--check'], {
    encoding: 'utf8',
  })
  expect(status, stderr).toBe(0)
})

test('a message is sent, found page by page, and shown', async () => {
  const ids: string[] = []
  for (let i = 0; i < 3; i += 1) {
    const body = { to: '+491700003001', type: 'text', text: { body: 'Hello' }, reference: `n-${i}` } as const
    const { data } = await laneway.operations.sending.message({ body })
    if (Array.isArray(data)) throw new Error('one message is answered with one')
    ids.push(data.id)
  }
  const found: string[] = []
  for await (const { id } of everyEntry(laneway.operations.messages.list, { to: '+491700003001', limit: 1 })) {
    found.push(id)
  }
  expect(found).toEqual([...ids].reverse())
  const { data } = await laneway.operations.messages.show({ id: ids[0] ?? '' })
  expect(data).toMatchObject({ id: ids[0], reference: 'n-0' })
})

test('what is refused is an error with its code, and what is not there as well', async () => {
  const wrong = laneway.operations.messages.list({ to: '12' })
  await expect(wrong).rejects.toThrow(LanewayRefused)
  await expect(laneway.operations.messages.show({ id: 'msg_1_01M7WMMBQHKTZHMT677YAAW3FV' })).rejects.toMatchObject({
    code: 'not_found',
  })
})

test('the types are those of the table', () => {
  type Lists = Awaited<ReturnType<typeof laneway.operations.messages.list>>
  expectTypeOf<Lists['next']>().toEqualTypeOf<string | null>()
  expectTypeOf(laneway.operations.keys.create).parameter(0).toHaveProperty('idempotencyKey')
  expectTypeOf<Awaited<ReturnType<typeof laneway.operations.campaigns.export>>>().toEqualTypeOf<Response>()
})

test('every operation reaches its address', async () => {
  const key = await tenant.key(
    'admin',
    'messages:read',
    'messages:send',
    'contacts:read',
    'contacts:write',
    'gallery',
    'events',
  )
  const all = await connectLaneway({ url: service.url, apiKey: key })
  const unfit = ['no_such_route', 'method_not_allowed', 'unauthorized', 'invalid_json', 'unexpected_answer']
  const routes = new Map<string, RouteSpec>(
    FAMILIES.flatMap(({ id, routes: of }) =>
      Object.entries(of).map(([name, spec]) => [`${id}.${name}`, spec] as const),
    ),
  )
  const codes = new Map<string, string>()
  for (const [family, operations] of Object.entries(all.operations)) {
    for (const [name, call] of Object.entries(operations)) {
      const address = `${family}.${name}`
      if (address === 'consoleLive.stream') continue
      const { params = {}, query = {}, body, text = 'person\n' } = routes.get(address)?.examples[0] ?? {}
      const isUpload = routes.get(address)?.body.as === 'stream'
      const given = { ...params, ...query, ...(isUpload ? { body: Buffer.from(text) } : { body }) }
      // Each takes other fields: what they are, its route decides.
      const answer: Promise<unknown> = (call as (input: object) => Promise<unknown>)(given)
      const code = await answer.then(
        async (answered) => {
          if (answered instanceof Response) await answered.arrayBuffer()
          return 'answered'
        },
        (error: unknown) => (error instanceof LanewayRefused ? error.code : String(error)),
      )
      codes.set(address, code)
    }
  }
  expect([...codes].filter(([, code]) => unfit.includes(code) || !/^[a-z_]+$/.test(code))).toEqual([])
  expect([...codes.values()].filter((code) => code === 'answered').length).toBeGreaterThan(25)
  await all.close()
})
