// Pins: a failure is on the overview within seconds of the provider's answer, for a reader of the account and for
// one of all accounts. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createCredential } from '../../src/accounts/credentials.ts'
import { type Snapshot, snapshotSchema } from '../../src/telemetry/snapshot.ts'
import { answerOf, keyOf } from '../support/console-reader.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

/** From the provider's answer to the page, which asks each second. */
const SHOWN_WITHIN_MS = 5_000
/** The provider refuses what goes to these numbers for good. */
const REFUSED = ['15550100101', '15550100102']
/** So many that none is early by chance: writes and looks have their own turns. */
const TIMES = 4

let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService()
  tenant = await service.addTenant()
})
afterAll(() => service?.close())

/** Looks each 200 ms, as several pages together do, and says how many failures it sees. */
async function watch(key: string, query = '') {
  const answer = await service.api.as(key).get(`/console/snapshot${query}`)
  const { failures }: Snapshot = answerOf(snapshotSchema, answer.json)
  return failures.reduce((sum, { count }) => sum + count, 0)
}

test('a failure is shown within 5 s of the answer of the provider, to the account and to operators', async () => {
  const { secret } = await keyOf(service, tenant, 'admin')
  const { secret: operator } = await createCredential(service.redis, 0, ['operator'], Date.now())
  const took: number[] = []
  expect([await watch(secret), await watch(operator)]).toEqual([0, 0])
  for (let time = 0; time < TIMES; time += 1) {
    const id = await sendTo(service, tenant, `+${REFUSED[time % REFUSED.length]}`)
    await reaches(service, tenant, id, 'failed')
    const answeredAt = performance.now()
    await eventually(async () => (await watch(secret)) > time, 'the account sees it')
    await eventually(async () => (await watch(operator)) > time, 'an operator sees it')
    took.push(Math.round(performance.now() - answeredAt))
  }
  expect(
    took.filter((ms) => ms > SHOWN_WITHIN_MS),
    `took ${took.join(', ')} ms`,
  ).toEqual([])
})
