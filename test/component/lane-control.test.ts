// Pins: lanes are listed, paused, resumed and re-paced, by command line and by admin endpoint alike. Real: Redis, HTTP,
// producer, worker. Stood in for: WhatsApp.
import { expect } from 'vitest'
import { z } from 'zod'
import { findSender, listSenders, updateSender } from '../../src/accounts/senders.ts'
import { blockLane, laneStatuses } from '../../src/lanes/control.ts'
import { coolLane } from '../../src/lanes/cooldown.ts'
import { lanes } from '../../src/producer/api/lanes/routes.ts'
import { documentIn, runAtTerminal } from '../support/cli.ts'
import { serviceTest } from '../support/fixtures.ts'
import { deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { eventually } from '../support/wait.ts'

const laneList = z.array(z.looseObject({ lane: z.number(), account: z.number(), rate: z.number() }))

const test = serviceTest()
  .extend('other', { scope: 'file' }, ({ service }) => service.addTenant())
  .extend('lanePaused', { scope: 'file' }, ({ service, tenant }) => async () => {
    return (await laneStatuses(service.redis, await listSenders(service.redis, tenant.account))).find(
      ({ lane }) => lane === tenant.partnerLane,
    )
  })
  .extend('cliJson', { scope: 'file' }, ({ cli }) => async (...words: string[]) => {
    const result = await cli(...words, '--json')
    const json: unknown = result.code === 0 ? documentIn(result.stdout) : undefined
    return { ...result, json }
  })
  /** A message that was refused by a provider that asks for two minutes. */
  .extend('cooling', { scope: 'file' }, ({ service, tenant }) => async () => {
    await reaches(service, tenant, await sendTo(service, tenant, '+491700001010'), 'read')
    const problem = { code: '130429', sentence: 'Too many for 491700001010.' }
    await coolLane(service.redis, tenant.partnerLane, 120_000, problem)
    return sendTo(service, tenant, '+491700001010')
  })

test('a paused lane keeps its messages until it is resumed', async ({
  service,
  tenant,
  admin,
  cli,
  cliJson,
  lanePaused,
}) => {
  const paused = await admin.post(`/admin/lanes/${tenant.partnerLane}/pause`, { reason: 'night' })
  expect(paused.status).toBe(200)
  const since = (await lanePaused())?.paused_at
  expect(Math.abs(Date.parse(String(since)) - Date.now())).toBeLessThan(60_000)
  const id = await sendTo(service, tenant, '+491700001001')
  const { json } = await cliJson('lanes', 'list', '--account', String(tenant.account))
  expect(laneList.parse(json).find((lane) => lane.lane === tenant.partnerLane)).toMatchObject({
    paused: true,
    paused_for: 'night',
    waiting: 1,
  })
  expect((await deliveryOf(service, tenant, id)).status).toBe('queued')
  // Nothing has left since then, whoever paused it again.
  expect((await cliJson('lanes', 'pause', String(tenant.partnerLane), '--reason', 'stock')).code).toBe(0)
  expect(await lanePaused()).toMatchObject({ paused_for: 'stock', paused_at: since })
  const { stdout } = await cli('lanes', 'list')
  expect(stdout).toMatch(/stock, by \S.*, since \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/)
  expect((await cliJson('lanes', 'resume', String(tenant.partnerLane))).code).toBe(0)
  expect(await lanePaused()).toMatchObject({ paused: false, paused_for: '', paused_by: '', paused_at: null })
  await reaches(service, tenant, id, 'read')
})

test('a lane that is paused while it is listed is never shown as paused without its reason', async ({
  service,
  tenant,
  queues,
  cliJson,
}) => {
  const lane = tenant.cloudLane
  const before = await findSender(service.redis, lane)
  if (before === undefined) throw new Error('no sender')
  let isOver = false
  const blocking = blockLane(service.redis, queues, lane, 'no money (code 131042)').then(() => {
    isOver = true
  })
  // Read before the pause and in the middle of it.
  for (let last = false; !last; ) {
    last = isOver
    const [listed] = await laneStatuses(service.redis, [before])
    const isPaused = listed?.paused
    expect(listed?.paused_for).toBe(isPaused ? 'no money (code 131042)' : '')
    expect(listed?.paused_by).toBe(isPaused ? 'Laneway' : '')
    expect(listed?.paused_at === null).toBe(!isPaused)
  }
  await blocking
  expect((await cliJson('lanes', 'resume', String(lane))).code).toBe(0)
})

test('a cooldown is listed with its end and code, and a resume ends it', async ({
  service,
  tenant,
  admin,
  cli,
  cliJson,
  cooling,
}) => {
  const id = await cooling()
  const lane = async () =>
    laneList.parse((await cliJson('lanes', 'list')).json).find((each) => each.lane === tenant.partnerLane)
  const listed = await eventually(async () => {
    const now = await lane()
    return now?.cooldown_code === '130429' && now
  }, 'the cooldown is listed')
  expect(Date.parse(String(listed.cooldown_until)) - Date.now()).toBeGreaterThan(60_000)
  expect(String(listed.cooldown_for)).not.toMatch(/\d{7}/)
  const table = await cli('lanes', 'list')
  expect(table.stdout).toContain(`${String(listed.cooldown_until).slice(0, 19)}Z 130429`)
  expect((await deliveryOf(service, tenant, id)).status).toBe('queued')
  const resumed = await admin.post(`/admin/lanes/${tenant.partnerLane}/resume`)
  expect(resumed.status).toBe(200)
  expect(await lane()).toMatchObject({ cooldown_until: null, cooldown_code: '', cooldown_for: '' })
  await reaches(service, tenant, id, 'read')
})

test("another account's lane does not exist for an admin key", async ({ tenant, other, admin }) => {
  for (const [verb, body] of Object.entries({ pause: {}, resume: {}, rate: { rate: 5 } })) {
    const answer = await admin.post(`/admin/lanes/${other.partnerLane}/${verb}`, body)
    expect(answer.status, verb).toBe(404)
  }
  const { data } = await admin.call(lanes.lanes)
  expect(data.map((lane) => lane.account)).toEqual([tenant.account, tenant.account])
})

test('a new pace is shown by lanes list, and a rate out of range is refused by name', async ({
  tenant,
  admin,
  cliJson,
}) => {
  const answer = await admin.post(`/admin/lanes/${tenant.cloudLane}/rate`, { rate: 12 })
  expect(answer.status).toBe(200)
  const { json } = await cliJson('lanes', 'list')
  expect(laneList.parse(json).find((lane) => lane.lane === tenant.cloudLane)?.rate).toBe(12)
  const wrong = await admin.post(`/admin/lanes/${tenant.cloudLane}/rate`, { rate: 0 })
  expect(wrong.status).toBe(400)
  expect(wrong.json).toMatchObject({ error: { details: [{ path: 'rate' }] } })
  expect((await cliJson('lanes', 'rate', String(tenant.cloudLane), '0')).code).toBe(2)
})

test("a rate above WhatsApp's limit for the number is set on the command line only after a question, or with --yes", async ({
  service,
  tenant,
  cliJson,
}) => {
  const lane = tenant.cloudLane
  const env = service.settings
  const rateNow = async () => (await findSender(service.redis, lane))?.rate
  expect((await cliJson('lanes', 'rate', String(lane), '80')).code).toBe(0)

  const unasked = await cliJson('lanes', 'rate', String(lane), '10000')
  expect([unasked.code, unasked.stderr]).toEqual([2, expect.stringMatching(/80 messages a second.*--yes/)])
  const refused = await runAtTerminal(['lanes', 'rate', String(lane), '10000'], env, 'n')
  expect([refused.code, await rateNow()]).toEqual([1, 80])
  expect((await runAtTerminal(['lanes', 'rate', String(lane), '120'], env, 'y')).code).toBe(0)
  expect(await rateNow()).toBe(120)
  expect((await cliJson('lanes', 'rate', String(lane), '10000', '--yes')).code).toBe(0)
  expect(await rateNow()).toBe(10_000)

  await updateSender(service.redis, lane, 'rate', { atMs: Date.now(), value: '1000' })
  expect((await cliJson('lanes', 'rate', String(lane), '1000')).code).toBe(0)
  const above = await cliJson('lanes', 'rate', String(lane), '1001')
  expect([above.code, above.stderr]).toEqual([2, expect.stringContaining('1,000 messages a second')])
})

test('a lane and a sender can be given on the command line by number in any spelling, by name or by id', async ({
  tenant,
  cliJson,
}) => {
  const { partnerNumber: number, partnerLane: lane } = tenant
  for (const name of [`+${number.slice(0, 2)} ${number.slice(2)}`, number, String(lane)]) {
    const { code, json } = await cliJson('lanes', 'pause', name)
    expect([code, json], name).toMatchObject([0, { lane, paused: true }])
    expect(await cliJson('lanes', 'resume', name), name).toMatchObject({ code: 0, json: { lane, paused: false } })
    expect(await cliJson('lanes', 'rate', name, '75'), name).toMatchObject({ code: 0, json: { lane, rate: 75 } })
    expect((await cliJson('lanes', 'dead-letters', name)).code, name).toBe(0)
    expect(await cliJson('senders', 'change', name, '--name', 'front desk'), name).toMatchObject({ json: { id: lane } })
    expect(await cliJson('stats', '--sender', name), name).toMatchObject({ code: 0, json: { lane } })
    expect((await cliJson('messages', 'list', '--sender', name)).code, name).toBe(0)
  }
  expect(await cliJson('lanes', 'pause', 'front desk')).toMatchObject({ code: 0, json: { lane } })
  expect(await cliJson('lanes', 'resume', 'front desk')).toMatchObject({ code: 0, json: { lane } })
  expect(await cliJson('stats', '--sender', 'front desk')).toMatchObject({ code: 0, json: { lane } })
  expect((await cliJson('senders', 'change', 'front desk', '--name', 'partner')).code).toBe(0)
})

test('an unknown sender name, or one that several accounts have, is refused on the command line instead of guessed', async ({
  tenant,
  other,
  cliJson,
}) => {
  const unknown = [
    [['lanes', 'pause'], 'The lane does not exist: +491799999999. [not_found]'],
    [['senders', 'remove'], 'The sender does not exist: +491799999999. [not_found]'],
    [['stats', '--sender'], '"+491799999999" is not a sender'],
    [['messages', 'list', '--sender'], '--sender: "+491799999999" is not a sender'],
  ] as const
  for (const [words, sentence] of unknown) {
    expect(await cliJson(...words, '+491799999999')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`error: ${sentence}`),
    })
  }
  const ids = [tenant.cloudLane, other.cloudLane]
  for (const words of [
    ['lanes', 'pause'],
    ['senders', 'remove'],
    ['stats', '--sender'],
  ]) {
    expect(await cliJson(...words, 'cloud')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining(
        `error: Several senders are called "cloud": ${ids.join(', ')}; name one by its number or its id.`,
      ),
    })
  }
})

test('a sender whose token has expired is paused, given a new one, and sends what waited', async ({
  service,
  tenant,
  admin,
  cliJson,
}) => {
  await fetch(`${service.simulator.url}/_control`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ match: { to: '491700001009' }, behaviour: 'token-expired', count: 1 }),
  })
  const id = await sendTo(service, tenant, '+491700001009')
  await eventually(async () => {
    const { json } = await cliJson('lanes', 'list', '--account', String(tenant.account))
    return laneList.parse(json).find((lane) => lane.lane === tenant.partnerLane)?.paused === true
  }, 'the lane is paused')
  expect((await cliJson('senders', 'renew', '999', '--token', 'fresh')).code).toBe(1)
  const renewed = await cliJson('senders', 'renew', String(tenant.partnerLane), '--token', 'fresh')
  expect(renewed.code).toBe(0)
  expect(renewed.stdout).not.toContain('fresh')
  expect((await deliveryOf(service, tenant, id)).status).toBe('queued')
  await admin.post(`/admin/lanes/${tenant.partnerLane}/resume`)
  await reaches(service, tenant, id, 'read')
})

test('a reason is listed without its full stop, followed by who paused the lane', async ({ tenant, cli }) => {
  await cli('lanes', 'pause', String(tenant.partnerLane), '--reason', 'The token has expired.')
  expect((await cli('lanes', 'list')).stdout).toMatch(/The token has expired, by \w/)
  await cli('lanes', 'resume', String(tenant.partnerLane))
})
