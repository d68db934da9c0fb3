// Pins: an endpoint gets events from the answer to its creation on, also when the relay is about to stop listening to
// the account, however the two are interleaved and wherever one dies. Real: Redis.
import { Command } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { startRelay } from '../../src/events/relay.processor.ts'
import { createEndpoint, newEndpointId } from '../../src/events/store/endpoints.ts'
import { listen, listenAgain, listeningAccounts, maintainOutboxes, sourcesOf } from '../../src/events/store/outbox.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { silentLog } from '../support/app.ts'
import { type EventReceiver, startReceiver } from '../support/event-receiver.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { endpointRecord, eventAccounts, listeningOf, outboxesOf, senderRecord } from '../support/state/accounts.ts'
import { clearAll, namesOfAccount } from '../support/state/everything.ts'
import { eventually, gate } from '../support/wait.ts'

const seal = createSeal(['a key of at least thirty-two characters'])
const RETENTION_MS = 3_600_000

let lanes: LaneRedis
const connections: Redis[] = []
let numbers = 0
beforeAll(async () => {
  lanes = await startLaneRedis()
})
afterAll(async () => {
  for (const each of connections) each.disconnect()
  await lanes?.close()
})

/** A connection that stops before its command `place` (from 0), until it is let go. */
async function steps() {
  const redis: Redis = connectWithRetry(lanes.server.url)
  connections.push(redis)
  await readyOrLate(redis, 300_000)
  let left = Number.POSITIVE_INFINITY
  const held: (() => unknown)[] = []
  let stopped = gate()
  const send = redis.sendCommand
  Reflect.set(redis, 'sendCommand', (...args: Parameters<Redis['sendCommand']>) => {
    if (left > 0) {
      left -= 1
      return Reflect.apply(send, redis, args)
    }
    held.push(() => Reflect.apply(send, redis, args))
    stopped.open()
    return args[0].promise
  })
  return {
    redis,
    /** Begins some work and resolves once it has stopped before this command, or is done. */
    async begin(place: number, work: () => Promise<unknown>) {
      left = place
      stopped = gate()
      let isDone = false
      const done = work().finally(() => {
        isDone = true
      })
      await Promise.race([done, stopped.opened])
      // What left before is answered.
      await Reflect.apply(send, redis, [new Command('PING')])
      return { isDone: () => isDone, done }
    },
    /** Lets it go on to its end. */
    async letGo() {
      left = Number.POSITIVE_INFINITY
      for (const each of held.splice(0)) each()
    },
  }
}

type Outbox = ReturnType<typeof outboxesOf>[number]

function newSender(redis: Redis, account: number): Promise<number> {
  numbers += 1
  const sender = { account, number: `49170${1_000_000 + numbers}`, name: '', provider: 'partner-api' } as const
  const access = { baseUrl: 'http://127.0.0.1:9', sealedToken: () => 'x', phoneNumberId: '' }
  const rest = { rate: 80, honoursIdempotency: false, isDefault: false }
  return addSender(redis, { ...sender, ...access, ...rest })
}

/** An account with a sender whose last listener went long ago. It is alone: a relay reads the lanes of all. */
async function forsaken() {
  await clearAll(lanes.redis)
  const account = await createAccount(lanes.redis, 'one')
  const lane = await newSender(lanes.redis, account)
  await listen(lanes.redis, account)
  await listeningOf(lanes.redis, account).change({ nobody_since: 1 })
  return { account, outboxes: outboxesOf(lanes.redis, account, [0, lane]) }
}

const create = (redis: Redis, account: number) =>
  createEndpoint(redis, account, newEndpointFields.parse({ url: 'https://example.com/x' }), {
    ...{ seal, nowMs: Date.now(), id: newEndpointId() },
  })
/** What happens from now on is written down; the entries' ids. */
const happen = (outboxes: Outbox[]) => Promise.all(outboxes.map((outbox) => outbox.addIfThere('e', '{"about":"x"}')))
const lost = async (outboxes: Outbox[], entries: (string | null)[]) =>
  (
    await Promise.all(outboxes.map(async (outbox, i) => entries[i] === null || !(await outbox.has(entries[i] ?? ''))))
  ).filter(Boolean).length

type Begun = Awaited<ReturnType<Awaited<ReturnType<typeof steps>>['begin']>>
interface Case {
  account: number
  outboxes: Outbox[]
  relay: Begun
  client: Begun
}

/**
 * Has the relay stop listening and a client create an endpoint, for every pair of places at which either stops for a while;
 * `first` is let go, and ends, before the other. `check` sees each case, once both have begun.
 */
async function atEveryPlace(
  first: 'relay' | 'client',
  check: (found: Case, letGo: Record<'relay' | 'client', () => Promise<unknown>>, where: string) => Promise<void>,
) {
  const [relay, client] = await Promise.all([steps(), steps()])
  for (let [relayPlace, isRelayDone] = [0, false]; !isRelayDone; relayPlace += 1) {
    for (let [clientPlace, isClientDone] = [0, false]; !isClientDone; clientPlace += 1) {
      const { account, outboxes } = await forsaken()
      const begin = {
        relay: () => relay.begin(relayPlace, () => maintainOutboxes(relay.redis, account, RETENTION_MS)),
        client: () => client.begin(clientPlace, () => create(client.redis, account)),
      }
      const begun =
        first === 'relay'
          ? { relay: await begin.relay(), client: await begin.client() }
          : { client: await begin.client(), relay: await begin.relay() }
      isRelayDone = begun.relay.isDone()
      isClientDone = begun.client.isDone()
      const letGo = {
        relay: () => relay.letGo().then(() => begun.relay.done),
        client: () => client.letGo().then(() => begun.client.done),
      }
      await check(
        { account, outboxes, ...begun },
        letGo,
        `${first} first, relay at ${relayPlace}, client at ${clientPlace}`,
      )
    }
  }
}

/** What is wrong about an account that has an endpoint; '' when it is listened to. */
async function faultOf(account: number, outboxes: Outbox[]): Promise<string> {
  if (!(await listeningAccounts(lanes.redis)).includes(account)) return 'not on the list'
  return (await happen(outboxes)).includes(null) ? 'a lane without an outbox' : ''
}

test('an endpoint created at any moment while the relay stops listening receives events from its answer on', async () => {
  const wrong: string[] = []
  let cases = 0
  await atEveryPlace('relay', async ({ account, outboxes }, letGo, where) => {
    await letGo.relay()
    await letGo.client()
    cases += 1
    const fault = await faultOf(account, outboxes)
    if (fault !== '') wrong.push(`${where}: ${fault}`)
  })
  await atEveryPlace('client', async ({ account, outboxes }, letGo, where) => {
    await letGo.client()
    const entries = await happen(outboxes)
    await letGo.relay()
    cases += 1
    const fault = (await lost(outboxes, entries)) > 0 ? 'an event was lost' : await faultOf(account, outboxes)
    if (fault !== '') wrong.push(`${where}: ${fault}`)
  })
  expect(wrong).toEqual([])
  expect(cases).toBeGreaterThan(100)
})

test('an account is listened to again by the next relay, wherever the last one died while it stopped listening', async () => {
  const wrong: string[] = []
  for (let [place, isDone] = [0, false]; !isDone; place += 1) {
    const relay = await steps()
    const { account, outboxes } = await forsaken()
    const tending = await relay.begin(place, () => maintainOutboxes(relay.redis, account, RETENTION_MS))
    isDone = tending.isDone()
    await create(lanes.redis, account)
    await listenAgain(lanes.redis)
    await maintainOutboxes(lanes.redis, account, RETENTION_MS)
    const fault = await faultOf(account, outboxes)
    if (fault !== '') wrong.push(`relay dead at ${place}: ${fault}`)
  }
  expect(wrong).toEqual([])
})

test('no outboxes are left of an account without endpoints and pulls', async () => {
  const { account, outboxes } = await forsaken()
  await maintainOutboxes(lanes.redis, account, RETENTION_MS)
  expect(await listeningAccounts(lanes.redis)).not.toContain(account)
  for (const outbox of outboxes) expect(await outbox.isThere()).toBe(false)
  expect(await namesOfAccount(lanes.redis, account, 'events')).toEqual([])
  await listenAgain(lanes.redis)
  expect(await listeningAccounts(lanes.redis)).not.toContain(account)
})

test('a sender added while the relay stops listening to its account keeps no outbox', async () => {
  const [relay, client] = await Promise.all([steps(), steps()])
  const wrong: string[] = []
  for (let [relayPlace, isRelayDone] = [0, false]; !isRelayDone; relayPlace += 1) {
    for (let [clientPlace, isClientDone] = [0, false]; !isClientDone; clientPlace += 1) {
      const { account } = await forsaken()
      const tending = await relay.begin(relayPlace, () => maintainOutboxes(relay.redis, account, RETENTION_MS))
      const adding = await client.begin(clientPlace, () => newSender(client.redis, account))
      isRelayDone = tending.isDone()
      isClientDone = adding.isDone()
      for (const [each, { done }] of [[relay, tending] as const, [client, adding] as const]) {
        await each.letGo()
        await done
      }
      const own = await sourcesOf(lanes.redis, account)
      const left = await Promise.all(outboxesOf(lanes.redis, account, own).map((outbox) => outbox.isThere()))
      if (left.includes(true)) wrong.push(`relay at ${relayPlace}, client at ${clientPlace}`)
    }
  }
  expect(wrong).toEqual([])
})

const blocked = () => JSON.stringify({ about: 'sender', blocked: true, reason: '', at: Date.now() })

// What is wrong is there before the one relay starts, which looks at the outboxes every few seconds.
describe.concurrent('a relay', () => {
  let unheard: Awaited<ReturnType<typeof forsaken>> & { receiver: EventReceiver }
  let hearers: Awaited<ReturnType<typeof hearing>>[]
  let relay: ReturnType<typeof startRelay>
  beforeAll(async () => {
    // It clears all, so it comes first.
    const { account, outboxes } = await forsaken()
    const receiver = await startReceiver()
    unheard = { account, outboxes, receiver }
    const fields = newEndpointFields.parse({ url: receiver.url, types: ['sender.blocked'] })
    await createEndpoint(lanes.redis, account, fields, { seal, nowMs: Date.now(), id: newEndpointId() })
    await eventAccounts(lanes.redis).drop(account)
    for (const outbox of outboxes) await outbox.remove()

    hearers = [await hearing(), await hearing(), await hearing()]
    // Of the first account an endpoint is unreadable, of the second its sender.
    const [one, another] = hearers
    const { endpoint: bad } = (await one?.add()) ?? expect.fail('no endpoint')
    await endpointRecord(lanes.redis, one?.account ?? 0, bad.id).change({ max_events: 'many' })
    await senderRecord(lanes.redis, another?.lane ?? 0).change({ rate: 'fast' })
    await another?.outbox.remove()

    const events = { retryMs: [1_000], retentionMs: RETENTION_MS, allowPrivate: ['127.0.0.0/8'] }
    relay = startRelay({ redis: lanes.redis, config: { events }, log: silentLog, seal, worker: 'one' })
  })
  afterAll(async () => {
    await relay?.stop(1_000)
    for (const { receiver } of [unheard, ...hearers]) await receiver.close()
  })

  test('finds an account that has an endpoint and is not listened to, and delivers its events', async () => {
    const { outboxes, receiver } = unheard
    const areThere = async () => (await Promise.all(outboxes.map((outbox) => outbox.isThere()))).every(Boolean)
    await eventually(areThere, 'the outboxes')
    await outboxes[1]?.add('e', blocked())
    await eventually(async () => receiver.taken.length > 0, 'the event')
  })

  test('keeps the events of an unreadable endpoint or sender, and delays no others', async () => {
    const [one, another, last] = hearers
    if (!one || !another || !last) throw new Error('nobody hears')
    await eventually(() => another.outbox.isThere(), 'the outbox of an unreadable sender')
    for (const each of [one, another, last]) await each.outbox.add('e', blocked())
    for (const each of [one, last]) await eventually(async () => each.receiver.taken.length > 0, 'the event')
    expect(another.receiver.taken).toEqual([])
    await senderRecord(lanes.redis, another.lane).change({ rate: '80' })
    await eventually(async () => another.receiver.taken.length > 0, 'the event of the mended sender')
  })
})

/** An account with a sender and an endpoint that takes its events. */
async function hearing() {
  const account = await createAccount(lanes.redis, 'one')
  const lane = await newSender(lanes.redis, account)
  const receiver = await startReceiver()
  const fields = newEndpointFields.parse({ url: receiver.url, types: ['sender.blocked'] })
  const add = () => createEndpoint(lanes.redis, account, fields, { seal, nowMs: Date.now(), id: newEndpointId() })
  await add()
  const [outbox] = outboxesOf(lanes.redis, account, [lane])
  if (outbox === undefined) throw new Error('no outbox')
  return { account, lane, receiver, add, outbox }
}
