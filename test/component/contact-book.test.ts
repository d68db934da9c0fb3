// Pins: an erasure has WhatsApp delete the person from its contact book too, says what came of it, tries again when WhatsApp
// is away, and is done whatever WhatsApp does. Real: Redis, HTTP, producer, worker, simulator.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { bookNames, bookWaitMs, outcomeOf } from '../../src/erase/contact-book.ts'
import { createContactBook } from '../../src/erase/contact-book-deletion.ts'
import { findErasure } from '../../src/erase/erasures.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { keepNames } from '../../src/people/names/names.ts'
import { createGraphApi } from '../../src/providers/graph-api.ts'
import type { Api } from '../support/api.ts'
import { keptLog } from '../support/app.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { stored } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'

const { log, lines } = keptLog()
let service: Service
let tenant: Tenant
let admin: Api
beforeAll(async () => {
  service = await startService({ log })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  admin = await tenant.apiWith('admin')
})
afterAll(() => service?.close())
beforeEach(() => control({ reset: true }))

const control = (account: object) =>
  fetch(`${service.simulator.url}/_control`, { method: 'POST', body: JSON.stringify({ account }) })

const answered = z.object({ data: z.record(z.string(), z.unknown()) })
const erase = (person: string, api: Api) => api.delete(`/admin/people/${encodeURIComponent(person)}`)
const jobOf = async (id: unknown, api = admin) => answered.parse((await api.get(`/jobs/${id}`)).json).data

/** A person whom WhatsApp has named by number and user id. */
async function named(phone: string, userId: string): Promise<void> {
  await keepNames(service.redis, tenant.account, [{ names: [phone, userId] }])
}

/**
 * Erases somebody and returns the job once WhatsApp's part of it is over. A machine that stands still for two seconds makes
 * WhatsApp unreachable once, and the account is left alone for a minute then.
 */
async function erased(person: string, api = admin): Promise<Record<string, unknown>> {
  const { status, json } = await erase(person, api)
  expect(status).toBe(200)
  return eventually(
    async () => {
      const job = await jobOf(answered.parse(json).data.job_id, api)
      return job.contact_book === 'waiting' ? undefined : job
    },
    'WhatsApp has been asked',
    300_000,
  )
}

test('deleting the entry of a person by the user id leaves nothing of them', async () => {
  await named('447700900101', 'GB.1000101')
  expect(await erased('+447700900101')).toMatchObject({ state: 'done', contact_book: 'deleted' })
  const left = Object.entries(await stored(service.redis)).filter(([key, value]) => (key + value).includes('1000101'))
  expect(left).toEqual([])
})

test('the outcome shows when there was no entry, no known user id, or no number on the Cloud API', async () => {
  await named('447700900102', 'GB.1000102')
  expect(await erased('GB.1000102')).toMatchObject({ contact_book: 'deleted' })
  await named('447700900102', 'GB.1000102')
  expect(await erased('+447700900102')).toMatchObject({ contact_book: 'not_found' })
  expect(await erased('+447700900103')).toMatchObject({ contact_book: 'no_user_id' })

  const account = await createAccount(service.redis, 'without a number')
  const { secret } = await createCredential(service.redis, account, ['admin'], Date.now())
  expect(await erased('+447700900103', admin.as(secret))).toMatchObject({ contact_book: 'none' })
})

test('the outcome shows when WhatsApp refuses', async () => {
  await control({ refuse: { code: 10, http: 403, count: 1 } })
  await named('447700900104', 'GB.1000104')
  expect(await erased('+447700900104')).toMatchObject({ state: 'done', contact_book: 'refused' })
  expect(lines.join()).toContain('contact_book.refused')
  expect(lines.join()).not.toContain('1000104')
})

test('an erasure ends at once while WhatsApp is away, asks again later, and delays nobody', async () => {
  await control({ refuse: { code: 1, http: 500, count: 1 } })
  await named('447700900105', 'GB.1000105')
  const { data } = answered.parse((await erase('+447700900105', admin)).json)
  expect(data).toMatchObject({ state: 'done' })
  await eventually(async () => lines.join().includes('contact_book.waits'), 'it waits')
  expect(await jobOf(data.job_id)).toMatchObject({ state: 'done', contact_book: 'waiting' })
  expect(await erased('+447700900106')).toMatchObject({ state: 'done', contact_book: 'no_user_id' })

  // The next try, of another worker.
  const graph = createGraphApi(service.config.cloudApiVersion)
  const seal = createSeal(secretKeysOf(service.config))
  const next = createContactBook({ redis: service.redis, log, graph, seal })
  const id = String(data.job_id)
  const erasure = await findErasure(service.redis, id)
  expect(erasure && (await next.ask(id, erasure))).toBeUndefined()
  expect(await jobOf(id)).toMatchObject({ contact_book: 'deleted' })
  await graph.close()
})

test('the tries for an entry end after about a day', () => {
  let waited = 0
  let tries = 1
  for (let waitMs = bookWaitMs(tries); waitMs !== undefined; waitMs = bookWaitMs(tries)) {
    waited += waitMs
    tries += 1
  }
  expect(tries).toBeLessThan(10)
  expect(waited).toBeGreaterThan(20 * 3_600_000)
  expect(waited).toBeLessThan(30 * 3_600_000)
})

test('answers of several businesses make one outcome, and an unreachable one is asked again', () => {
  expect(outcomeOf(['refused', 'deleted', 'not_found'])).toBe('deleted')
  expect(outcomeOf(['refused', 'not_found'])).toBe('not_found')
  expect(outcomeOf(['deleted', 'unreachable'])).toBe('unreachable')
  expect(outcomeOf(['refused'])).toBe('refused')
})

test('only user ids are asked about: no numbers, no names of a parent company', () => {
  expect(bookNames(['447700900101', 'GB.1000101', 'BR.AB12cd', 'GB.ENT.1000101'])).toEqual(['GB.1000101', 'BR.AB12cd'])
})
