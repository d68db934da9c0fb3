// Pins: how often a key was used on each of the last 30 days, and from where last, is told over HTTP and on the command line;
// a busy key is written down once a minute. Real: Redis, HTTP, CLI.
import { expect } from 'vitest'
import { createCredential, forgetCredentials } from '../../src/accounts/credentials.ts'
import { noteKeyUse, readKeyUses, writeKeyUses } from '../../src/accounts/key-uses.ts'
import { keys } from '../../src/producer/api/keys/routes.ts'
import { serviceTest } from '../support/fixtures.ts'
import { namesWith } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'

const DAY_MS = 86_400_000
const NOON = Date.parse('2026-11-20T12:00:00Z')

const test = serviceTest({ worker: false, env: { LANEWAY_TRUSTED_PROXIES: '127.0.0.1' } }).extend(
  'usesOf',
  { scope: 'file' },
  ({ service }) =>
    async (account: number, id: string, nowMs: number) =>
      (await readKeyUses(service.redis, account, nowMs)).get(id),
)

test('the use of a key is recorded with its time and address', async ({ service, tenant, cli }) => {
  const admin = await createCredential(service.redis, tenant.account, ['admin'], Date.now(), 0, 'console of Ada')
  const listed = async () => {
    const { data } = await service.api.as(admin.secret).call(keys.list, { headers: { 'x-forwarded-for': '192.0.2.7' } })
    return data.find(({ id }) => id === admin.id)
  }
  const dayOf = () => new Date().toISOString().slice(0, 10)
  const before = dayOf()
  const used = await eventually(async () => {
    const key = await listed()
    return key?.last_used_from === null ? undefined : key
  }, 'the use is written down')
  expect(used).toMatchObject({
    last_used_from: '192.0.2.7',
    uses: [{ count: expect.any(Number), from: '192.0.2.7' }],
  })
  // Midnight may have come meanwhile.
  expect([before, dayOf()]).toContain(used?.uses[0]?.day)
  expect((await cli('keys', 'list', '--account', String(tenant.account))).stdout).toContain('192.0.2.7')
  expect((await cli('keys', 'uses', admin.id)).stdout).toMatch(/COUNT +LAST FROM\n\d{4}-\d\d-\d\d +\d+ +192\.0\.2\.7/)
})

test('the uses of a busy key are written once a minute, and all counted', async ({ service, usesOf }) => {
  const key = { account: 900_001, id: 'key_000000000001' }
  for (let i = 0; i < 1_000; i += 1) noteKeyUse(service.redis, key, NOON + i, () => '192.0.2.1')
  expect(await usesOf(key.account, key.id, NOON)).toEqual({
    lastMs: NOON,
    days: [{ day: '2026-11-20', count: 1, from: '192.0.2.1' }],
  })
  noteKeyUse(service.redis, key, NOON + 60_000, () => '192.0.2.2')
  expect((await usesOf(key.account, key.id, NOON))?.days).toEqual([
    { day: '2026-11-20', count: 1_001, from: '192.0.2.2' },
  ])
  // What is left is written down when the process stops.
  noteKeyUse(service.redis, key, NOON + 61_000)
  await writeKeyUses(service.redis)
  expect((await usesOf(key.account, key.id, NOON))?.days).toEqual([
    { day: '2026-11-20', count: 1_002, from: '192.0.2.2' },
  ])
})

test('uses are counted by day, the latest first, for 30 days', async ({ service, usesOf }) => {
  const key = { account: 900_002, id: 'key_000000000002' }
  noteKeyUse(service.redis, key, NOON, () => '192.0.2.1')
  noteKeyUse(service.redis, key, NOON + DAY_MS)
  await writeKeyUses(service.redis)
  const days = async (nowMs: number) => (await usesOf(key.account, key.id, nowMs))?.days.map(({ day }) => day)
  expect(await days(NOON + DAY_MS)).toEqual(['2026-11-21', '2026-11-20'])
  expect(await days(NOON + 30 * DAY_MS)).toEqual(['2026-11-21'])
  expect(await days(NOON + 31 * DAY_MS)).toEqual([])
})

test('nothing of them is left once the keys of the account are removed', async ({ service }) => {
  const key = { account: 900_003, id: 'key_000000000003' }
  noteKeyUse(service.redis, key, Date.now(), () => '192.0.2.1')
  await writeKeyUses(service.redis)
  expect((await namesWith(service.redis, '900003')).length).toBeGreaterThan(0)
  await forgetCredentials(service.redis, key.account)
  expect(await namesWith(service.redis, '900003')).toEqual([])
})
