// Pins: a failure is on the overview within seconds of the provider's answer, for a reader of the account and for
// one of all accounts. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { expect } from 'vitest'
import { consoleLive } from '../../src/producer/api/console/routes.ts'
import type { Api } from '../support/api.ts'
import { serviceTest } from '../support/fixtures.ts'
import { slowness } from '../support/machine.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { watchStandstills } from '../support/standstills.ts'
import { eventually } from '../support/wait.ts'

/** From the provider's answer to the page, which asks each second, on two quiet cores. */
const SHOWN_WITHIN_MS = 5_000
/** The provider refuses what goes to these numbers for good. */
const REFUSED = ['15550100101', '15550100102']
/** The first comes at any moment; the second right after a turn of the writer has shown the first, so that it waits longest. */
const TIMES = 2

/** Looks each 200 ms, as several pages together do, and says how many failures it sees. */
async function watch(api: Api) {
  const { data } = await api.call(consoleLive.snapshot)
  return data.failures.reduce((sum, { count }) => sum + count, 0)
}

const test = serviceTest()

test("a failure is shown within 5 s of the provider's answer, to the account and to operators", async ({
  service,
  tenant,
  admin,
}) => {
  const operator = await service.operator()
  const took: number[] = []
  expect([await watch(admin), await watch(operator)]).toEqual([0, 0])
  for (let time = 0; time < TIMES; time += 1) {
    const id = await sendTo(service, tenant, `+${REFUSED[time % REFUSED.length]}`)
    await reaches(service, tenant, id, 'failed')
    const stood = watchStandstills()
    const answeredAt = performance.now()
    await eventually(async () => (await watch(admin)) > time, 'the account sees it')
    await eventually(async () => (await watch(operator)) > time, 'an operator sees it')
    stood.stop()
    took.push(Math.round(performance.now() - answeredAt - stood.ms()))
  }
  const limitMs = SHOWN_WITHIN_MS * (await slowness())
  expect(
    took.filter((ms) => ms > limitMs),
    `took ${took.join(', ')} ms`,
  ).toEqual([])
})
