// Pins: a sender whose provider counts by the second is told so over HTTP or on the command line, and its slots are reserved for that.
// Real: Redis, HTTP, producer, worker, command line.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { paceOf } from '../../src/model/messages/pace.ts'
import type { Api } from '../support/api.ts'
import { runCli } from '../support/cli.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { slotsOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const RATE = 10

let service: Service
let operator: Api
let env: Record<string, string>
beforeAll(async () => {
  service = await startService({ worker: false })
  operator = await service.operator()
  env = service.settings
})
afterAll(() => service?.close())

const patch = ({ partnerLane }: Tenant, body: object) =>
  operator.request('PATCH', `/admin/senders/${partnerLane}`, body)
const set = ({ partnerLane }: Tenant, value: string) =>
  runCli(['senders', 'set', String(partnerLane), 'strict_pace', value], env)

/** Time (ms) between the first slots of its lane. */
async function gapMs(tenant: Tenant): Promise<number> {
  const ids = await Promise.all(Array.from({ length: 3 }, (_none, n) => sendTo(service, tenant, `+49170000010${n}`)))
  await service.startWorker()
  // They are kept for seconds only.
  const [latest, before] = await eventually(async () => {
    const slots = await slotsOf(service.redis, tenant.partnerLane).all()
    return slots.length >= ids.length && slots
  }, 'all have their slots')
  for (const id of ids) await reaches(service, tenant, id, 'read')
  await service.stopWorker()
  return (Number(latest) - Number(before)) / 1_000
}

test('a sender keeps its pace strictly when set to', async () => {
  const [usual, told, no] = [
    await service.addTenant({ rate: RATE }),
    await service.addTenant({ rate: RATE }),
    await service.addTenant({ rate: RATE }),
  ]
  const changed = await patch(told, { strict_pace: true })
  expect(changed.status).toBe(200)
  expect(JSON.parse(changed.text)).toMatchObject({ data: { strict_pace: true, rate: RATE } })
  expect((await set(no, 'yes')).code).toBe(0)
  expect((await set(no, 'no')).code).toBe(0)

  const gaps = [await gapMs(usual), await gapMs(told), await gapMs(no)]
  const [strict, other] = [paceOf(RATE, true).gapUs / 1_000, paceOf(RATE).gapUs / 1_000]
  expect(gaps.map((gap) => Math.round(gap * 100) / 100)).toEqual([other, strict, other])
})

test('a value that is neither yes nor no is refused', async () => {
  const tenant = await service.addTenant()
  expect((await patch(tenant, { strict_pace: 'yes' })).status).toBe(400)
  const { code, stderr } = await set(tenant, 'maybe')
  expect([code, stderr]).toEqual([2, expect.stringContaining('strict_pace: expected yes or no')])
})
