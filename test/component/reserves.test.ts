// Pins: while little is left of the disk or of Redis' memory, whatever takes much is refused and single messages go on.
// Real: Redis with a limit of its own, HTTP, the disk. Stood in for: a disk that is full, by a reserve larger than any disk.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { ACCOUNT_HEADER } from '../../src/producer/acting-account.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import { startProducer } from '../../src/producer/main.ts'
import { apiClient } from '../support/api.ts'
import { errorOf } from '../support/api-error.ts'
import { silentLog } from '../support/app.ts'
import { buttonsBody } from '../support/example-messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

let service: Service
let tenant: Tenant
let operator: string
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
  operator = (await createCredential(service.redis, 0, [OPERATOR], Date.now())).secret
})
afterAll(() => service?.close())

const LARGE = ROUTES.filter(({ takesRoom }) => takesRoom === true)

/** What each address that takes much room answers to a key that may do all, and the status of a single message. */
async function answersOf(url: string) {
  const large = await Promise.all(
    LARGE.map(async ({ method, path, body }) => {
      const headers = {
        [ACCOUNT_HEADER]: String(tenant.account),
        'content-type': body.as === 'stream' ? (body.contentTypes[0] ?? '') : 'application/json',
      }
      const at = path.replaceAll(/:\w+/g, 'cmp_1_1')
      const answer = await apiClient(url, operator).request(method.toUpperCase(), at, '{}', headers)
      return [answer.status, answer.status < 400 ? '' : errorOf(answer).code]
    }),
  )
  const single = await fetch(`${url}/sendservicemessages/sendmessages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...buttonsBody(), api_key: tenant.apiKey }),
  })
  return { large, single: single.status }
}

test('uploads, imports, campaigns and batches are the large requests', () => {
  expect(LARGE.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
    'post /campaigns',
    'post /campaigns/:id/preflight',
    'post /campaigns/:id/rows',
    'post /campaigns/:id/start',
    'post /contacts/import',
    'post /messages/batch',
    'post /opt-outs/import',
    'post /partners/wp-gallery/manage/files',
  ])
})

test('large requests are refused with 507 when less of the disk is left than the reserve, and a message is accepted', async () => {
  const reserve = { diskBytes: Number.MAX_SAFE_INTEGER, redisPercent: 0 }
  const producer = await startProducer({ ...service.config, reserve }, service.server.url, silentLog)
  try {
    const { large, single } = await answersOf(producer.url)
    expect(large).toEqual(LARGE.map(() => [507, 'disk_reserve']))
    expect(single).toBe(200)
  } finally {
    await producer.close()
  }
})

test('large requests are refused with 503 when less memory of Redis is left than the reserve, and a message is accepted', async () => {
  const used = Number(/^used_memory:(\d+)/m.exec(await service.redis.info('memory'))?.[1])
  // A fifth is left of what there is.
  await service.redis.config('SET', 'maxmemory', String(Math.round(used * 1.25)))
  const reserve = { diskBytes: 0, redisPercent: 50 }
  const producer = await startProducer({ ...service.config, reserve }, service.server.url, silentLog)
  try {
    const { large, single } = await answersOf(producer.url)
    expect(large).toEqual(LARGE.map(() => [503, 'memory_reserve']))
    expect(single).toBe(200)
  } finally {
    await producer.close()
    await service.redis.config('SET', 'maxmemory', '0')
  }
})

test('no large request is refused for lack of room when there is enough of both', async () => {
  const { large } = await answersOf(service.url)
  for (const [status] of large) expect([503, 507]).not.toContain(status)
})
