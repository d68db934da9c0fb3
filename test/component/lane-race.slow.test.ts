// Pins: a lane opens at its first work and closes when it is idle, and no message is lost between the two, with two
// workers that open and close the same lanes all the time and no sweep to help. Real: Redis, BullMQ.
import fc from 'fast-check'
import { afterAll, afterEach, expect, test } from 'vitest'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import type { CallEnd } from '../../src/model/messages/outcome.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import type { Lanes } from '../../src/worker/sending/lanes.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import type { TestRedis } from '../support/redis.ts'
import { answering, anySender, lanesOf, sendingTo } from '../support/sending.ts'
import { listenFor } from '../support/state/accounts.ts'
import { addSilently } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

/** Idle sooner than most messages follow one another. */
const IDLE_MS = 5
const ACCEPTED: CallEnd = { kind: 'accepted', providerId: 'p' }

let server: TestRedis
let redis: Redis
let queues: LaneQueues
withOwnRedis((own, at) => {
  redis = own
  server = at
  queues = openLaneQueues(redis)
})
afterAll(async () => {
  await queues?.close()
})

interface Manager {
  lanes: Lanes
  /** Lanes that were opened, one after the other. */
  opened: number[]
  stop(): Promise<void>
}

const running: Manager[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((manager) => manager.stop()))
})

/** A worker's lanes with nothing around them: wakes open, and idle ones are closed as fast as possible. */
async function startManager(done: (id: string) => void): Promise<Manager> {
  const [connection, listener] = [connectWithRetry(server.url), connectWithRetry(server.url)]
  const own = openLaneQueues(connection)
  const opened: number[] = []
  const provider = answering((_to, id) => {
    done(id)
    return ACCEPTED
  })
  const lanes = lanesOf(sendingTo({ redis: connection, lanes: own }, anySender(1_000), provider), {
    ...{ maxInFlight: 5, laneIdleMs: IDLE_MS, opened: (lane) => void opened.push(lane) },
  })
  listener.on('message', (_channel, lane) => lanes.wake(Number(lane)))
  await listenFor(listener, 'laneHasWork')
  let closing = true
  const closer = (async () => {
    while (closing) {
      await lanes.closeIdle()
      await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  const manager = {
    lanes,
    opened,
    async stop() {
      closing = false
      await closer
      await lanes.stop(Promise.resolve(2_000))
      await own.close()
      listener.disconnect()
      connection.disconnect()
    },
  }
  running.push(manager)
  return manager
}

const payload = {
  ...{ v: 1 as const, to: '491700000001', class: 'transactional' as const, until: Date.now() + 3_600_000 },
  content: { type: 'audio' as const, audio: { link: 'https://example.com/a.ogg' } },
}

// One worker has nobody to make up for it; two get in each other's way.
test.each([1, 2])(
  'every message that is added while lanes open and close is processed, once (%i workers)',
  async (count) => {
    const processed: string[] = []
    const managers = await Promise.all(Array.from({ length: count }, () => startManager((id) => processed.push(id))))
    // Gaps about as long as a lane stays open, settling included, so that many messages come while it closes. What is lost in
    // between is found with the next message of its lane: so there are many ends.
    const adds = fc.array(fc.record({ lane: fc.integer({ min: 1, max: 2 }), gapMs: fc.integer({ min: 0, max: 70 }) }), {
      minLength: 15,
      maxLength: 15,
    })
    const added: string[] = []
    const play = (slower: number) =>
      fc.assert(
        fc.asyncProperty(adds, async (plan) => {
          const mine: string[] = []
          for (const { lane, gapMs } of plan) {
            const id = messageId(lane, newUlid(Date.now()))
            mine.push(id)
            await queues.add(id, payload)
            await new Promise((resolve) => setTimeout(resolve, slower * gapMs))
          }
          added.push(...mine)
          const all = async () => mine.every((id) => processed.includes(id))
          await eventually(all, `all of ${mine.length} messages`)
        }),
        { numRuns: 8 },
      )
    const haveOpenedOften = () => managers.every(({ opened }) => opened.length > 20)
    // A slow machine settles a message for longer, so that lanes stay open in gaps of this length: then once more with longer ones.
    for (let slower = 1; slower === 1 || (slower <= 16 && !haveOpenedOften()); slower *= 2) await play(slower)
    expect(processed.toSorted()).toEqual(added.toSorted())
    // Otherwise this would have tested lanes that stay open.
    for (const { opened } of managers) expect(opened.length).toBeGreaterThan(20)
  },
)

test('an idle lane is closed, and one with work is not', async () => {
  let finish = () => {}
  const finished = new Promise<void>((resolve) => {
    finish = resolve
  })
  const { lanes } = await startManager(() => {})
  const provider = answering(async () => {
    await finished
    return ACCEPTED
  })
  const slow = lanesOf(sendingTo({ redis, lanes: queues }, anySender(1_000), provider), { laneIdleMs: IDLE_MS })
  await queues.add(messageId(21, newUlid(Date.now())), payload)
  await eventually(async () => !lanes.isOpen(21), 'the idle lane is closed')

  await addSilently(redis, 22, messageId(22, newUlid(Date.now())), payload)
  slow.wake(22)
  await eventually(async () => (await queues.counts(22)).active === 1, 'its message is in work')
  for (let i = 0; i < 20; i += 1) await slow.closeIdle()
  expect(slow.isOpen(22)).toBe(true)
  finish()
  await eventually(async () => {
    await slow.closeIdle()
    return !slow.isOpen(22)
  }, 'the lane is closed after its work')
  await slow.stop(Promise.resolve(2_000))
})

test('a lane with a message that waits for later stays open until it is sent', async () => {
  const processed: string[] = []
  const { lanes, opened } = await startManager((id) => processed.push(id))
  const id = messageId(31, newUlid(Date.now()))
  await addSilently(redis, 31, id, payload, 500)
  queues.wake(31)
  // It may be closed again by the time that a slow machine asks whether it is open.
  await eventually(async () => opened.includes(31), 'the lane opens')
  await eventually(async () => processed.includes(id), 'its message is processed')
  await eventually(async () => !lanes.isOpen(31), 'the lane is closed')
})
