// Pins: whether a message is marketing goes by the category that its template has when the message leaves, not by its class.
// Real: Redis. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { importTemplate, knownTemplate } from '../../src/accounts/templates.ts'
import { deadlineIn } from '../../src/kernel/deadline.ts'
import { messageId } from '../../src/kernel/message-id.ts'
import type { MessageClass } from '../../src/model/messages/content.ts'
import { type TemplateCategory, templateSchema } from '../../src/model/templates/template.ts'
import { addOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { cap } from '../../src/portfolios/caps.ts'
import { takeNext } from '../../src/worker/sending/take.ts'
import { type LaneRedis, newId, startLaneRedis } from '../support/lane-redis.ts'
import { answering, anySender, sendAlone, sendingTo, takenLane } from '../support/sending.ts'

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

const ACCOUNT = 1

/** Registers a template of its own; undefined: nothing knows it. */
let templates = 0
async function newTemplate(category: TemplateCategory | undefined): Promise<string> {
  templates += 1
  const name = `notice_${templates}`
  if (category !== undefined) await setCategory(name, category)
  return name
}
const setCategory = (name: string, category: TemplateCategory): Promise<void> =>
  importTemplate(
    world.redis,
    ACCOUNT,
    templateSchema.parse({ name, language: 'en', category, components: [{ type: 'BODY', text: 'Hello' }] }),
  )

let people = 0
const somebody = (): string => {
  people += 1
  return `49170${String(people).padStart(7, '0')}`
}

/** A lane with one message of this template; `take` says whether it may leave, `sent` whether it did. */
async function laneWith(name: string, of: MessageClass, to: string) {
  const lane = world.newLane()
  const sent: string[] = []
  const provider = answering((each) => {
    sent.push(each)
    return { kind: 'accepted', providerId: 'p' }
  })
  const deps = sendingTo({ redis: world.redis, lanes: world.queues }, anySender(80), provider)
  const entry = await deps.directory.of(lane)
  if (entry === undefined) throw new Error('no sender')
  await world.queues.add(messageId(lane, newId(lane).ulid), {
    ...{ v: 1, to, class: of, until: Date.now() + 3_600_000 },
    content: { type: 'template', template: { name, language: { code: 'en' }, components: [] } },
  })
  return {
    ...{ sent, capped: () => cap(world.redis, entry.rules, to, { forMs: 60_000 }) },
    /** Sends it; `late`: it leaves later than it was asked about, and this happens in between. */
    async send(late?: () => Promise<unknown>): Promise<readonly string[]> {
      const ends: Promise<unknown>[] = []
      const from = takenLane(lane, entry, (message) => {
        if (late === undefined) ends.push(sendAlone(deps, message))
        else {
          message.wantedUntil = deadlineIn(Number.NEGATIVE_INFINITY)
          ends.push(late().then(() => sendAlone(deps, message)))
        }
      })
      await takeNext(deps, from, { most: 10, firstOnly: false, unclaimedSince: Number.POSITIVE_INFINITY })
      await Promise.all(ends)
      return sent
    },
  }
}

const CASES: readonly [TemplateCategory | undefined, MessageClass, boolean][] = [
  ['UTILITY', 'campaign', false],
  ['AUTHENTICATION', 'campaign', false],
  ['MARKETING', 'campaign', true],
  [undefined, 'campaign', true],
  ['UTILITY', 'transactional', false],
  ['MARKETING', 'transactional', true],
  [undefined, 'transactional', false],
]

test.each(CASES)(
  'for a template %s in the class %s it is %s that it waits for a capped person',
  async (category, of, waits) => {
    const to = somebody()
    const { send, capped } = await laneWith(await newTemplate(category), of, to)
    await capped()
    expect(await send()).toEqual(waits ? [] : [to])
  },
)

test.each(CASES)(
  'for a template %s in the class %s it is %s that a cap set after the claim keeps the message back',
  async (category, of, waits) => {
    const to = somebody()
    const { send, capped } = await laneWith(await newTemplate(category), of, to)
    expect(await send(capped)).toEqual(waits ? [] : [to])
  },
)

test('a category changed by WhatsApp applies to waiting messages', async () => {
  const [to, other] = [somebody(), somebody()]
  const name = await newTemplate('UTILITY')
  const [before, after] = [await laneWith(name, 'campaign', to), await laneWith(name, 'campaign', other)]
  await before.capped()
  await after.capped()
  expect(await before.send()).toEqual([to])
  await setCategory(name, 'MARKETING')
  // What is known of a template holds for a second.
  await expect
    .poll(async () => (await knownTemplate(world.redis, ACCOUNT, { name, language: { code: 'en' } }))?.category)
    .toBe('MARKETING')
  expect(await after.send()).toEqual([])
})

test('a message accepted as utility whose template has become marketing goes to nobody who opted out', async () => {
  const to = somebody()
  await addOptOuts(world.redis, ACCOUNT, [to], { source: 'http', atMs: Date.now() })
  expect(await (await laneWith(await newTemplate('MARKETING'), 'transactional', to)).send()).toEqual([])
  expect(await (await laneWith(await newTemplate('UTILITY'), 'transactional', to)).send()).toEqual([to])
})
