// Pins: a number that WhatsApp holds back for spam (131048) rests its campaigns alone, and one transactional message at a time
// asks whether it sends; a template that it refuses as paused rests the campaigns with that template alone. Real: Redis, HTTP,
// producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { importTemplate } from '../../src/accounts/templates.ts'
import { resumeLane } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { SPRING } from '../support/campaigns.ts'
import { accepted, graphError, startCampaignsOnStandIn } from '../support/cloud-stand-in.ts'
import { acknowledgedId } from '../support/messages.ts'
import { eventually } from '../support/wait.ts'

const CODE = {
  ...{ name: 'ready', category: 'UTILITY', language: 'en_US', status: 'APPROVED' },
  components: [{ type: 'BODY', text: 'Your order is ready.' }],
}

let world: Awaited<ReturnType<typeof startCampaignsOnStandIn>>
let service: typeof world.service
let product: typeof world.product
beforeAll(async () => {
  world = await startCampaignsOnStandIn({ delayMs: 10 })
  ;({ service, product } = world)
  for (const template of [CODE, { ...SPRING, name: 'autumn' }]) {
    await importTemplate(service.redis, service.tenant.account, templateSchema.parse(template))
  }
})
beforeEach(() => world.reset())
afterAll(() => world?.close())

let codes = 0
async function code(): Promise<{ id: string; to: string }> {
  codes += 1
  const to = `49154${String(codes).padStart(8, '0')}`
  const answer = await service.post('/chatappbusiness/send-templated-message', {
    ...{ api_key: service.tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual' },
    ...{ to: `+${to}`, type: 'template', template: { name: 'ready', language: { code: 'en_US' }, components: [] } },
    sender: service.sender,
  })
  return { id: acknowledgedId(answer), to }
}
const isCode = (to: string): boolean => to.startsWith('49154')
const callsOf = (wanted: (to: string) => boolean) => product.state.calls.filter(({ to }) => wanted(to)).length
const shown = z.looseObject({ waits: z.looseObject({ why: z.string(), until: z.string().nullable() }).nullable() })
const waitsOf = async (path: string) => shown.parse((await service.request('GET', path)).json().data).waits

test('131048 rests campaigns for an hour; codes are sent one at a time until one is accepted', async () => {
  // For spam, of whatever kind; after a while only of campaigns.
  let takesCodes = false
  product.state.answer = (call, to) => (isCode(to) && takesCodes ? accepted(call, to) : graphError(429, 131048))
  const id = await world.started(200)
  const waits = await eventually(async () => (await waitsOf(`/campaigns/${id}`)) ?? undefined, 'campaigns rest')
  expect(waits.why).toBe('lane_cooldown')
  await eventually(
    async () => ((await service.show(id)).progress.sending === 0 ? true : undefined),
    'nothing is in flight',
  )
  const refused = product.state.calls.length
  takesCodes = true
  const sent = await Promise.all(Array.from({ length: 20 }, code))
  await eventually(async () => callsOf(isCode) === sent.length || undefined, 'codes leave', 20_000)
  // All that campaigns wait for now is the hour.
  const until = (await waitsOf(`/campaigns/${id}`))?.until ?? ''
  expect(Date.parse(until) - Date.now()).toBeGreaterThan(3_500_000)
  expect((await service.show(id)).progress).toMatchObject({ queued: 200, failed: 0 })
  expect(product.state.calls.length - callsOf(isCode)).toBe(refused)
  expect((await service.show(id)).state).toBe('running')

  product.state.answer = accepted
  const queues = openLaneQueues(service.redis)
  await resumeLane(service.redis, queues, service.lane)
  await service.reaches(id, 'done')
  await queues.close()
})

test('while the number accepts nothing at all, one message is tried, and the next a minute later', async () => {
  product.state.answer = () => graphError(429, 131048)
  const [first] = await Promise.all(Array.from({ length: 5 }, code))
  await eventually(async () => callsOf(isCode) >= 2 || undefined, 'it was asked once more', 20_000)
  const waits = await eventually(async () => {
    const found = await waitsOf(`/messages/${first?.id}`)
    const leftMs = Date.parse(found?.until ?? '') - Date.now()
    // While the second one is asked for, all wait until its request would have timed out: more than a minute.
    return leftMs > 20_000 && leftMs <= 60_000 ? found : undefined
  }, 'all wait for the next probe, a minute later')
  expect(waits?.why).toBe('lane_cooldown')
  const queues = openLaneQueues(service.redis)
  product.state.answer = accepted
  await resumeLane(service.redis, queues, service.lane)
  await queues.close()
  await eventually(async () => ((await waitsOf(`/messages/${first?.id}`)) === null ? true : undefined), 'it goes on')
})

test.each([132015, 132016])(
  '%i pauses all campaigns with that template, no other, and no code waits',
  async (refusal) => {
    const { tag } = await service.addPeople(600)
    const { template } = service.definition({ tags: [tag] })
    const ready = (name: string) => service.ready({ tags: [tag] }, { template: { ...template, name } })
    const [other, one, two] = [await ready('autumn'), await ready('spring'), await ready('spring')]
    // One after the other, once all are checked: a slow machine checks for so long that the first had come to its end.
    for (const id of [other, one, two]) await service.move(id, 'start')
    await eventually(async () => Number((await service.show(two)).progress.sent) > 0 || undefined, 'all send')
    product.state.answer = (call, to, template) =>
      template === 'spring' ? graphError(400, refusal) : accepted(call, to)
    for (const id of [one, two]) {
      const { reason, progress } = await service.reaches(id, 'paused', 20_000)
      expect(reason).toMatch(/^template_paused: /)
      expect(progress).toMatchObject({ failed: 0 })
    }
    // On a slow machine it has come to its end meanwhile.
    const goesOn = (await service.show(other)).state
    expect(['running', 'done']).toContain(goesOn)
    const { to } = await code()
    await eventually(async () => callsOf((each) => each === to) === 1 || undefined, 'the code leaves', 60_000)
    for (const id of [one, two]) await service.move(id, 'cancel')
    await service.reaches(other, 'done')
  },
)
