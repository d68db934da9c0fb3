// Pins: a lane that its pace has stopped for a moment goes on after it, however its messages end, and tells only messages
// as in flight. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import type { CallEnd } from '../../src/model/messages/outcome.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { audioJob, startLaneRedis } from '../support/lane-redis.ts'
import { answering, anySender, lanesOf, sendingTo } from '../support/sending.ts'
import { hangNextLook } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const RATE = 80
const MESSAGES = 300
const TOGETHER_MS = 40
const ACCEPTED: CallEnd = { kind: 'accepted', providerId: 'p' }

let redis: Redis
let queues: LaneQueues
let close: () => Promise<void>
beforeAll(async () => {
  ;({ redis, queues, close } = await startLaneRedis())
})
afterAll(() => close?.())

// A Worker that took the end of all it had in hand for the end of its queue waited 5 s for somebody to wake it.
test.concurrent.each([
  ['at once', 1, () => Promise.resolve()],
  ['together, as sends that are answered at the same moment', 2, endOfBeat],
])('messages that end %s do not make a lane wait', async (_how, lane, work) => {
  let done = 0
  const provider = answering(async () => {
    await work()
    done += 1
    return ACCEPTED
  })
  const lanes = lanesOf(sendingTo({ redis, lanes: queues }, anySender(RATE), provider), { maxInFlight: 20 })
  const payload = audioJob()
  await queues.addMany(Array.from({ length: MESSAGES }, () => ({ id: messageId(lane, newUlid(Date.now())), payload })))
  lanes.wake(lane)
  await eventually(async () => done === MESSAGES, 'all have ended', 12_000)
  await lanes.stop(Promise.resolve(5_000))
})

test('room reserved by a read for what it may find does not count as messages in flight', async () => {
  const lane = 3
  const lanes = lanesOf(
    sendingTo(
      { redis, lanes: queues },
      anySender(RATE),
      answering(() => ACCEPTED),
    ),
  )
  hangNextLook(lane)
  lanes.wake(lane)
  await eventually(async () => lanes.inFlight() > 0, 'the lane is read')
  expect(lanes.serves()).toMatchObject([{ lane, inFlight: 0 }])
  expect(lanes.claimedOrInFlight()).toBe(0)
  await lanes.stop(Promise.resolve(0))
})

test('a lane gets its turn although others have as many messages in flight as the worker allows', async () => {
  const busy = [11, 12, 13, 14]
  const [mine, each] = [15, 100]
  const sent = new Map<number, number>()
  const provider = answering(async (_to, id) => {
    const lane = parseMessageId(id)?.lane ?? 0
    sent.set(lane, (sent.get(lane) ?? 0) + 1)
    await endOfBeat()
    return ACCEPTED
  })
  const lanes = lanesOf(sendingTo({ redis, lanes: queues }, anySender(RATE), provider), { maxInFlight: busy.length })
  const payload = audioJob()
  const add = (lane: number, count: number) =>
    queues.addMany(Array.from({ length: count }, () => ({ id: messageId(lane, newUlid(Date.now())), payload })))
  for (const lane of busy) await add(lane, each)
  for (const lane of busy) lanes.wake(lane)
  await eventually(async () => busy.every((lane) => sent.has(lane)), 'all are busy')
  await add(mine, 3)
  lanes.wake(mine)
  await eventually(async () => sent.get(mine) === 3, 'its messages are sent')
  for (const lane of busy) expect(sent.get(lane)).toBeLessThan(each)
  await lanes.stop(Promise.resolve(1_000))
})

let beat: Promise<void> | undefined

/** Resolves in the same turn for all who ask within a beat, as answers of Redis that come in one packet do. */
function endOfBeat(): Promise<void> {
  beat ??= new Promise<void>((resolve) => setTimeout(resolve, TOGETHER_MS)).finally(() => {
    beat = undefined
  })
  return beat
}

test.each(['handed over', 'reopened', 'stopped'])(
  'messages in flight of a lane that was %s during a read are not counted either',
  async (how) => {
    const lane = { 'handed over': 4, reopened: 5, stopped: 6 }[how] ?? 0
    const played = answering(() => ACCEPTED)
    const lanes = lanesOf(sendingTo({ redis, lanes: queues }, anySender(RATE), played))
    hangNextLook(lane)
    lanes.wake(lane)
    await eventually(async () => lanes.inFlight() > 0, 'the lane is read')
    const held = lanes.inFlight()
    if (how === 'handed over') lanes.handOver([lane])
    if (how === 'reopened') expect(lanes.reopen(lane)).toBe(true)
    if (how === 'stopped') await lanes.stop(Promise.resolve(0))
    expect(lanes.inFlight()).toBeGreaterThanOrEqual(held)
    expect(lanes.claimedOrInFlight()).toBe(0)
    await lanes.stop(Promise.resolve(0))
    expect(lanes.claimedOrInFlight()).toBe(0)
  },
)
