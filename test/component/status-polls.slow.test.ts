// Pins: on the wire without webhooks delivery is followed by polling, at a cost that stays small for messages that take
// long, and polling stops at a final state. Real: Redis, HTTP, producer, worker. Stood in for: the partner upstream.
// Each test waits for a few polls, a second or more apart, on a lane of its own: so they run side by side.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { setSenderAccess } from '../../src/accounts/senders.ts'
import { POLL_QUEUE, pollJobId } from '../../src/jobs/background.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { type Partner, startPartner, statusAnswer } from '../support/partner.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { pollsOn } from '../support/state/messages.ts'
import { loseAllPolls, sharedQueue, unfinishedIn } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

/** Polls that are late on a busy machine come later still: each waits for half the age of its message. */
const LONG_MS = 60_000

let service: Service
let partner: Partner
/** What the upstream says of a recipient's message; `sent` unless said otherwise. */
const answers = new Map<string, string>()
beforeAll(async () => {
  service = await startService()
  partner = await startPartner({ poll: (to) => answers.get(to) ?? statusAnswer('sent') })
})
afterAll(async () => {
  await service?.close()
  await partner?.close()
})

async function newTenant({ addTenant, config, redis } = service): Promise<Tenant> {
  const tenant = await addTenant()
  const sealedToken = createSeal(secretKeysOf(config)).encrypt('token')
  await setSenderAccess(redis, tenant.partnerLane, { baseUrl: partner.url, sealedToken })
  return tenant
}

const pollsOf = (to: string): number => partner.polls.filter((each) => each === to).length
const outstanding = (tenant: Tenant) => pollsOn(service.redis, tenant.partnerLane).count()

describe.concurrent('polling', () => {
  test('stops once the message is read', () => expectToStop('read', statusAnswer('read'), 'read'))

  test('stops once the message is failed, and keeps its code', async () => {
    const sentence = 'The recipient is gone (code 131026)'
    const { tenant, id } = await expectToStop('failed', statusAnswer('failed', sentence), 'failed')
    expect((await deliveryOf(service, tenant, id)).error_message).toBe(sentence)
  })

  test('stops once the message is expired at the upstream', () =>
    expectToStop('expired', statusAnswer('expired'), 'failed'))

  test.each([
    ['nonsense', 'OK'],
    ['a word that nobody knows', statusAnswer('teleported')],
    ['an answer of another kind', '{"status":false}'],
  ])('goes on when the upstream answers %s', async (_name, nonsense) => {
    const tenant = await newTenant()
    const to = `49170000430${nonsense.length}`
    answers.set(to, nonsense)
    const id = await sendTo(service, tenant, `+${to}`)
    await eventually(async () => pollsOf(to) >= 2, 'it is asked twice', LONG_MS)
    expect((await deliveryOf(service, tenant, id)).status).toBe('sent')
    answers.set(to, statusAnswer('delivered'))
    await reaches(service, tenant, id, 'delivered', LONG_MS)
  })
})

/** `answer` is the upstream's and `state` what the message becomes by it. */
async function expectToStop(name: string, answer: string, state: string) {
  const tenant = await newTenant()
  const [over, witness] = [`49170000411${name.length}`, `49170000412${name.length}`]
  answers.set(over, answer)
  const id = await sendTo(service, tenant, `+${over}`)
  await reaches(service, tenant, id, state, LONG_MS)
  const polls = pollsOf(over)
  // Another message of the lane shows that polls went on.
  await sendTo(service, tenant, `+${witness}`)
  await eventually(async () => pollsOf(witness) >= 2, 'the other one is polled on', LONG_MS)
  expect(pollsOf(over)).toBe(polls)
  expect(await outstanding(tenant)).toBe(1)
  return { tenant, id }
}

test.concurrent('slow messages do not cost a job each: a lane of a hundred has a handful', async () => {
  const tenant = await newTenant()
  const numbers = Array.from({ length: 100 }, (_, i) => `4917000040${100 + i}`)
  await Promise.all(numbers.map((to) => sendTo(service, tenant, `+${to}`)))
  await eventually(async () => (await outstanding(tenant)) === numbers.length, 'all of them are followed', LONG_MS)
  const queue = sharedQueue(service.redis, POLL_QUEUE)
  const jobs = () => unfinishedIn(queue)
  await eventually(async () => numbers.every((to) => pollsOf(to) >= 2), 'each was polled twice', LONG_MS)
  // Lanes of other tests have theirs as well.
  expect(await jobs()).toBeLessThanOrEqual(20)
  expect(await jobs()).toBeGreaterThan(0)
  await queue.close()
  for (const to of numbers) answers.set(to, statusAnswer('read'))
  await eventually(async () => (await outstanding(tenant)) === 0, 'none is followed any more', LONG_MS)
})

test.concurrent('polls whose job failed and was kept are resumed', async () => {
  const tenant = await newTenant()
  const polls = sharedQueue(service.redis, POLL_QUEUE)
  // Without the options that remove it, as one whose record was changed by hand.
  await polls.add('poll', { nobody: 'reads this' }, { jobId: pollJobId(tenant.partnerLane) })
  await eventually(async () => (await polls.getFailedCount()) > 0, 'it has failed', LONG_MS)
  const to = '491700004402'
  answers.set(to, statusAnswer('delivered'))
  const id = await sendTo(service, tenant, `+${to}`)
  await reaches(service, tenant, id, 'delivered', LONG_MS)
  await polls.close()
})

test.concurrent('polls whose job is gone are resumed', async () => {
  // By itself: the jobs of all lanes go.
  const own = await startService()
  const tenant = await newTenant(own)
  const to = '491700004401'
  const id = await sendTo(own, tenant, `+${to}`)
  await eventually(async () => pollsOf(to) >= 1, 'it is polled')
  await loseAllPolls(own.redis)
  answers.set(to, statusAnswer('delivered'))
  await reaches(own, tenant, id, 'delivered', LONG_MS)
  await own.close()
})
