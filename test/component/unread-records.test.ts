// Pins: an answer of Redis that is an error, as while it loads or runs a long script, is never taken for a record that is
// not there: an event is not skipped, and a reply is not settled uncounted. Real: Redis.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { cachedSender } from '../../src/accounts/senders.ts'
import { countReplies } from '../../src/campaigns/replies.processor.ts'
import { addReply, waitingReplies } from '../../src/campaigns/store/replies.ts'
import { documentsOf } from '../../src/events/store/documents.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { silentLog } from '../support/app.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { receivedName, receivedRecord } from '../support/state/messages.ts'

let lanes: LaneRedis
let busy: Redis
let isBusy = false
beforeAll(async () => {
  lanes = await startLaneRedis()
  busy = connectWithRetry(lanes.server.url)
  await readyOrLate(busy, 300_000)
  const send = busy.sendCommand
  Reflect.set(busy, 'sendCommand', (...args: Parameters<Redis['sendCommand']>) => {
    if (isBusy && args[0].name === 'hgetall') throw new Error('BUSY Redis is busy running a script.')
    return Reflect.apply(send, busy, args)
  })
})
afterAll(async () => {
  busy?.disconnect()
  await lanes?.close()
})

/** Runs `work` while no record can be read. */
async function whileBusy<T>(work: () => Promise<T>): Promise<T> {
  isBusy = true
  try {
    return await work()
  } finally {
    isBusy = false
  }
}

let numbers = 0
/** A received message, of an account of its own. */
async function received() {
  const account = await createAccount(lanes.redis, 'one')
  numbers += 1
  const lane = await addSender(lanes.redis, {
    ...{ account, number: `49170${1_000_000 + numbers}`, name: '', provider: 'partner-api' },
    ...{ baseUrl: 'http://127.0.0.1:9', sealedToken: () => 'x', phoneNumberId: '' },
    ...{ rate: 80, honoursIdempotency: false, isDefault: false },
  })
  const id = `wamid.${numbers}`
  const message = { id, lane, from: '491700000001', type: 'text', text: 'Yes', received_at: Date.now() }
  await storeInbound(lanes.redis, account, message, 3_600_000)
  return { account, lane, id, name: receivedName(id) }
}

/** The documents of what was received, by the connection that is busy at times. */
const documents = ({ account, lane, name }: Awaited<ReturnType<typeof received>>) =>
  documentsOf({ redis: busy, account, senderOf: () => undefined, includeContent: false }, [
    { source: lane, entry: '1-0', line: 0, occurrence: { about: 'received', name, at: Date.now() } },
  ])

test('an event is not skipped because Redis could not read its message', async () => {
  const message = await received()
  await expect(whileBusy(() => documents(message))).rejects.toThrow('BUSY')
  expect(await documents(message)).toMatchObject([{ type: 'message.received', data: { id: message.id } }])
})

test('the event of a message with an unreadable record is left out', async () => {
  const message = await received()
  await receivedRecord(lanes.redis, message.account, message.id).drop('type')
  expect(await documents(message)).toEqual([undefined])
})

test('a reply waits until Redis can read its message', async () => {
  const { lane, name } = await received()
  await addReply(lanes.redis, lane, { message: name, receivedAt: Date.now() })
  // Read before: only the message is left to be read.
  await cachedSender(busy, lane)
  await expect(whileBusy(() => countReplies(busy, silentLog))).rejects.toThrow('BUSY')
  expect(await waitingReplies(lanes.redis, lane, 10)).toHaveLength(1)
  await countReplies(busy, silentLog)
  expect(await waitingReplies(lanes.redis, lane, 10)).toEqual([])
})
