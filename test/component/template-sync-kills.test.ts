// Pins: wherever a sync of templates dies, the next one ends in the same registry. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { setSenderProvider } from '../../src/accounts/senders.ts'
import {
  askForSync,
  dropSync,
  findTemplateSync,
  plannedSyncs,
  planSync,
  type TemplateSync,
} from '../../src/accounts/template-syncs.ts'
import { listTemplates } from '../../src/accounts/templates.ts'
import { syncTemplates } from '../../src/admin/sync-templates.ts'
import { startTemplateSyncs } from '../../src/admin/template-syncs.processor.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import type { GraphApi, GraphEnd } from '../../src/providers/graph-api.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { silentLog } from '../support/app.ts'
import { dyingAfterWrites, startRedis, type TestRedis } from '../support/redis.ts'
import { senderRecord, templateSyncRecord } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const seal = createSeal(['a key for the tests that is long enough'])

/** A list of WhatsApp, two templates a page. */
function listOf(names: readonly string[]): Pick<GraphApi, 'ask'> {
  return {
    async ask(_access, _path, { after = '0' } = {}): Promise<GraphEnd> {
      const from = Number(after)
      const data = names.slice(from, from + 2).map((name) => ({
        ...{ name, language: 'en_US', category: 'UTILITY', status: 'APPROVED' },
        components: [{ type: 'BODY', text: `Hello ${name}` }],
      }))
      const to = from + 2
      const paging = to < names.length ? { cursors: { after: String(to) }, next: 'https://graph.facebook.com/x' } : {}
      return { kind: 'answer', body: { data, paging }, atMs: Date.now(), backoffMs: undefined }
    },
  }
}

let numbers = 0
async function newSender(of?: number): Promise<{ account: number; wabaId: string; lane: number }> {
  const account = of ?? (await createAccount(redis, 'Shop'))
  numbers += 1
  const phone = { number: `4917000${10_000 + numbers}`, phoneNumberId: `77${numbers}`, name: '' }
  const sender = { account, ...phone, provider: 'cloud-api', baseUrl: 'https://graph.facebook.com' } as const
  const rest = { sealedToken: seal.encrypt('token'), rate: 80, honoursIdempotency: false, isDefault: false }
  const lane = await addSender(redis, { ...sender, ...rest })
  const wabaId = `88${numbers}`
  await setSenderProvider(redis, lane, { wabaId })
  return { account, wabaId, lane }
}

const how = { stopped: new AbortController().signal, mayGoOn: async () => true }
const depsOf = (on: Redis, names: readonly string[]) => ({
  ...{ redis: on, retentionMs: 1_000, log: silentLog, seal },
  graph: listOf(names),
})
const namesOf = async (account: number) => (await listTemplates(redis, account)).map(({ template }) => template.name)

test('dying before any write of a sync does not change its result', async () => {
  let hasEnded = false
  let writes = 0
  for (; !hasEnded && writes < 100; writes += 1) {
    const synced = await newSender()
    await syncTemplates(depsOf(redis, ['a', 'b', 'c', 'x']), synced, how)
    const dying = await dyingAfterWrites(server.url, writes)
    const names = ['a', 'b', 'd', 'e', 'f']
    hasEnded = await syncTemplates(depsOf(dying, names), synced, how).then(
      () => true,
      () => false,
    )
    dying.disconnect()
    await syncTemplates(depsOf(redis, names), synced, how)
    expect(await namesOf(synced.account), `after ${writes} writes`).toEqual(names)
    const ended: TemplateSync = await findTemplateSync(redis, synced)
    expect(ended).toMatchObject({ state: 'done', after: '', problem: '' })
  }
  expect(hasEnded).toBe(true)
  expect(writes).toBeGreaterThan(15)
})

test('a worker that no longer holds the lease stops before the next page, and removes nothing', async () => {
  const synced = await newSender()
  await syncTemplates(depsOf(redis, ['a', 'b', 'c']), synced, how)
  let pages = 0
  const mayGoOn = async () => {
    pages += 1
    return pages < 2
  }
  expect(await syncTemplates(depsOf(redis, ['d', 'e', 'f']), synced, { ...how, mayGoOn })).toBe('stopped')
  expect(await namesOf(synced.account)).toEqual(['a', 'b', 'c', 'd', 'e'])
})

test('a list with more templates than an account may have ends at the limit, and removes nothing', async () => {
  const synced = await newSender()
  await syncTemplates(depsOf(redis, ['a']), synced, how)
  const endless: Pick<GraphApi, 'ask'> = {
    async ask(_access, _path, { after = '0' } = {}): Promise<GraphEnd> {
      const data = Array.from({ length: 5_000 }, (_, i) => ({
        ...{ name: `t_${after}_${i}`, language: 'en', category: 'UTILITY', status: 'APPROVED', components: [] },
      }))
      const next = String(Number(after) + 1)
      const body = { data, paging: { cursors: { after: next }, next: 'https://graph.facebook.com/x' } }
      return { kind: 'answer', body, atMs: Date.now(), backoffMs: undefined }
    },
  }
  await syncTemplates({ ...depsOf(redis, []), graph: endless }, synced, how)
  const { state, problem, listed } = await findTemplateSync(redis, synced)
  expect([state, problem, listed]).toEqual(['failed', 'too_many', 20_000])
  expect(await namesOf(synced.account)).toContain('a')
})

test('an account whose WhatsApp does not answer delays no other account', async () => {
  const hanging = await newSender()
  const hanged = [hanging]
  for (let i = 0; i < 20; i += 1) hanged.push(await newSender(hanging.account))
  const fine = await newSender()
  for (const each of [...hanged, fine]) await askForSync(redis, each, 'person')
  const list = listOf(['a'])
  const graph: Pick<GraphApi, 'ask'> = {
    ask: (access, path, query, how) =>
      hanged.some(({ wabaId }) => path.startsWith(`${wabaId}/`))
        ? new Promise((resolve) => {
            how?.signal?.addEventListener('abort', () => resolve({ kind: 'unavailable', cause: 'timeout' }))
          })
        : list.ask(access, path, query),
  }
  const syncs = startTemplateSyncs({ ...depsOf(redis, []), graph })
  try {
    await eventually(async () => (await namesOf(fine.account)).includes('a') || undefined, 'its templates are listed')
  } finally {
    await syncs.stop(2_000)
    // Or workers of other tests would list them first.
    for (const each of hanged) await dropSync(redis, each)
  }
})

test('an unreadable record of a sender or a sync stops no sync of another account after a start', async () => {
  const [broken, ofBrokenSync, fine] = [await newSender(), await newSender(), await newSender()]
  await syncTemplates(depsOf(redis, ['kept']), broken, how)
  await planSync(redis, broken, Date.now() + 3_600_000)
  await planSync(redis, ofBrokenSync, Date.now() + 3_600_000)
  await senderRecord(redis, broken.lane).change({ rate: 'fast' })
  await templateSyncRecord(redis, ofBrokenSync.account, ofBrokenSync.wabaId).change({ state: 'broken' })
  const syncs = startTemplateSyncs(depsOf(redis, ['a']))
  try {
    await eventually(async () => (await namesOf(fine.account)).includes('a') || undefined, 'its templates are listed')
    // Whether its account at WhatsApp is still in use is not known.
    expect(await namesOf(broken.account)).toEqual(['kept'])
    expect(await plannedSyncs(redis, broken.account)).toHaveLength(1)
  } finally {
    await syncs.stop(2_000)
    await senderRecord(redis, broken.lane).change({ rate: '80' })
  }
})

test('an unreadable sender stops no sync of another sender, and keeps its own templates', async () => {
  const own = await newSender()
  const other = await newSender(own.account)
  await syncTemplates(depsOf(redis, ['kept']), own, how)
  await senderRecord(redis, own.lane).change({ rate: 'fast' })
  await expect(syncTemplates(depsOf(redis, ['a']), own, how)).rejects.toThrow(`sender ${own.lane} in Redis is broken`)
  await syncTemplates(depsOf(redis, ['a']), other, how)
  expect(await namesOf(own.account)).toEqual(['a', 'kept'])
  await senderRecord(redis, own.lane).change({ rate: '80' })
})
