// Pins: places of a campaign are sent to once each, however many workers serve the lane and how often they are fed, wherever a worker
// dies, and whatever their lane, their campaign and WhatsApp do meanwhile.
// Real: Redis, the steps of messages, the worker's part that serves a lane. The test is WhatsApp.
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { findSender } from '../../src/accounts/senders.ts'
import { cancelCampaign } from '../../src/campaigns/commands/moves.ts'
import { spansToFeed } from '../../src/campaigns/fan-out/feed.ts'
import { FilesAwayError } from '../../src/files/store.ts'
import { messageId } from '../../src/kernel/message-id.ts'
import { readNext } from '../../src/lanes/jobs.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { addPlaces } from '../../src/lanes/places.ts'
import { cancelWherever } from '../../src/messages/lookup/cancel.ts'
import { findMessage } from '../../src/messages/lookup/lookup.ts'
import { requeueMessage } from '../../src/messages/requeue/requeue.ts'
import { campaignId } from '../../src/model/campaigns/campaign-id.ts'
import { optOutsHold } from '../../src/people/opt-outs/opt-out-hold.ts'
import { addOptOuts, removeOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { takeNext } from '../../src/worker/sending/take.ts'
import { type Life, type Lives, startLives } from '../support/campaign-lives.ts'
import { ownAct } from '../support/own-acts.ts'
import { ACCEPTED, playProduct } from '../support/places.ts'
import { interceptCommands } from '../support/redis.ts'
import { answering, sendingTo, takenLane } from '../support/sending.ts'
import { addDeadLetter, deadLettersOn, placesOn, readLongAgo } from '../support/state/lanes.ts'
import { campaignRecord, endCooldowns } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let lives: Lives
let life: Life
beforeAll(async () => {
  lives = await startLives()
})
afterAll(() => lives?.close())

const phones = (count: number, from = 0) => Array.from({ length: count }, (_, i) => String(447_700_000_000 + from + i))
const numberOf = (states: readonly unknown[], state: unknown) => states.filter((each) => each === state).length

async function begin(total: number) {
  life = await lives.begin(total)
  return playProduct(lives, life)
}

describe('everybody is sent the message once', () => {
  test('when they are fed twice', async () => {
    const product = await begin(20)
    expect(await product.run()).toBe('done')
    expect(await product.run()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(20))
    expect((await life.describe()).progress).toMatchObject({ sent: 20, queued: 0 })
  })

  test('when two workers serve the lane at the same time, while everybody is fed again', async () => {
    const product = await begin(60)
    product.answers((_to, nth) => (nth === 20 ? product.feed().then(() => ACCEPTED) : ACCEPTED))
    await product.feed()
    await Promise.all([product.serve(), product.serve()])
    expect(product.sent.sort()).toEqual(phones(60))
    expect((await life.describe()).progress).toMatchObject({ sent: 60, queued: 0 })
  })

  test('when the worker dies at any of its commands, unless the message is flagged', async () => {
    const total = 5
    let isOver = false
    for (let commands = 0; !isOver; commands += 1) {
      const product = await begin(total)
      await product.feed()
      await product.serveAndDie(commands)
      isOver = product.sent.length === total && numberOf(await product.states(), 'sent') === total
      // What it had read is left alone for a moment.
      await readLongAgo(lives.redis, life.lane)
      expect(await product.run()).toBe('done')
      await life.sweep()
      await life.sweep()
      expect(product.sent.length, `sent to twice after ${commands}`).toBe(new Set(product.sent).size)
      const states = await product.states()
      for (const [place, phone] of phones(total).entries()) {
        const isFlagged = states[place] === 'unconfirmed' || states[place] === 'unknown'
        expect(states[place] === 'sent' ? product.sent.includes(phone) : isFlagged, `${place} after ${commands}`).toBe(
          true,
        )
      }
    }
  })
})

test('campaign messages are claimed after three trips to Redis: to read, to check, to claim', async () => {
  life = await lives.begin(40)
  await addPlaces(lives.redis, life.id, [{ from: 0, count: 40 }])
  const redis = connectWithRetry(lives.url)
  onTestFinished(() => redis.disconnect())
  const sender = await findSender(lives.redis, life.lane)
  if (!sender) throw new Error('no sender')
  const { queues, config } = lives
  const deps = sendingTo(
    { redis, lanes: queues, config, files: config.files },
    sender,
    answering(() => ACCEPTED),
  )
  const entry = await deps.directory.of(life.lane)
  let claimed = 0
  const from = takenLane(life.lane, entry, () => (claimed += 1))
  const take = () => takeNext(deps, from, { most: 10, firstOnly: false, unclaimedSince: Number.POSITIVE_INFINITY })
  // The first step opens the campaign, and loads the scripts.
  await take()
  let [trips, underWay] = [0, 0]
  interceptCommands(redis, async (send) => {
    if (underWay === 0) trips += 1
    underWay += 1
    try {
      return await send()
    } finally {
      underWay -= 1
    }
  })
  await take()
  expect([claimed, trips]).toEqual([20, 3])
})

test('as many messages are in flight as there is room for, and no more', async () => {
  const product = await begin(60)
  const share = 10
  let inFlight = 0
  let most = 0
  product.answers(async () => {
    inFlight += 1
    most = Math.max(most, inFlight)
    await eventually(() => Promise.resolve(most >= share || undefined), 'all places are taken', 60_000)
    // Time for one more, if there were room.
    await new Promise((resolve) => setTimeout(resolve, 25))
    inFlight -= 1
    return ACCEPTED
  })
  await product.run({ share })
  expect(product.sent.sort()).toEqual(phones(60))
  expect(most).toBe(share)
})

describe('at each message', () => {
  test.each([1, 2, 3, 5, 7])('a pause of the lane at message %i holds, and a resume reaches the others', async (at) => {
    const product = await begin(12)
    product.answers(async (_to, nth) => {
      if (nth === at) await lives.queues.pause(life.lane)
      return ACCEPTED
    })
    const share = 2
    expect(await product.run({ share, rate: 8 })).toBe('lane waits')
    // Those in flight, and what leaves within a second.
    expect(product.sent.length).toBeLessThanOrEqual(at + share + 8)
    await lives.queues.resume(life.lane)
    product.answers(() => ACCEPTED)
    expect(await product.run()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(12))
  })

  test.each([1, 2, 3, 5, 7])(
    'a pause of the campaign at message %i holds at once, and a resume reaches the others',
    async (at) => {
      const product = await begin(12)
      product.answers(async (_to, nth) => {
        if (nth === at) await life.pause()
        return ACCEPTED
      })
      const share = 2
      expect(await product.run({ share })).toBe('done')
      expect(product.sent.length).toBeLessThanOrEqual(at + share)
      expect(await placesOn(lives.redis, life.lane)).toEqual([])
      expect(await product.run()).toBe('done')
      expect(product.sent.length).toBeLessThanOrEqual(at + share)
      await life.resume()
      await product.run()
      expect(product.sent.sort()).toEqual(phones(12))
    },
  )

  test('no message leaves when the lane was paused before', async () => {
    const product = await begin(12)
    await lives.queues.pause(life.lane)
    expect(await product.run()).toBe('lane waits')
    expect(product.sent).toEqual([])
    await lives.queues.resume(life.lane)
    expect(await product.run()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(12))
  })

  test('a cancellation takes effect at once, and the figures show it', async () => {
    const product = await begin(12)
    product.answers(async (_to, nth) => {
      if (nth === 4)
        await cancelCampaign({ redis: lives.redis, queue: lives.queue, retentionMs: 1_000_000 }, await life.record())
      return ACCEPTED
    })
    expect(await product.run({ share: 2 })).toBe('done')
    const { length } = product.sent
    expect(length).toBeLessThanOrEqual(6)
    expect((await life.describe()).progress).toMatchObject({ sent: length, cancelled: 12 - length })
  })

  test('an erasure takes effect before its job begins, and the message is settled as cancelled', async () => {
    const product = await begin(12)
    const { account } = await life.record()
    const [person = ''] = phones(1, 11)
    product.answers(async (_to, nth) => {
      if (nth === 3) await createTombstones(lives.redis, ['secret']).bury(account, person, Date.now(), 1_000_000)
      return ACCEPTED
    })
    expect(await product.run({ share: 2, rate: 8 })).toBe('done')
    expect(product.sent.sort()).toEqual(phones(11))
    expect((await life.describe()).progress).toMatchObject({ sent: 11, cancelled: 1 })
  })

  /** Opts everybody out, and again in when the test has ended; resolves to when that was answered. */
  async function optOutAll(total: number): Promise<number> {
    const { account } = await life.record()
    const how = { source: 'http' } as const
    onTestFinished(async () => void (await removeOptOuts(lives.redis, account, phones(total), how)))
    await addOptOuts(lives.redis, account, phones(total), how)
    await optOutsHold(lives.redis)
    return performance.now()
  }

  test('an opt-out takes effect once it is answered', async () => {
    const product = await begin(20)
    const leftAt: number[] = []
    let answered: Promise<number> | undefined
    product.answers(async () => {
      leftAt.push(performance.now())
      answered ??= optOutAll(20)
      // On a busy machine all would have left before the answer.
      if (leftAt.length > 12) await answered
      return ACCEPTED
    })
    expect(await product.run({ rate: 30 })).toBe('done')
    const answeredAt = (await answered) ?? 0
    expect(leftAt.filter((at) => at > answeredAt)).toEqual([])
    expect((await life.describe()).progress.cancelled).toBe(20 - leftAt.length)
    expect(leftAt.length).toBeLessThan(20)
  })

  test('an opt-out also takes effect for a worker that stalled between its check of opt-outs and its claim', async () => {
    const product = await begin(3)
    const redis = connectWithRetry(lives.url)
    onTestFinished(() => redis.disconnect())
    const ask = redis.zmscore
    let stoodStill: Promise<unknown> | undefined
    interceptCommands(redis, async (send) => {
      await stoodStill
      return send()
    })
    Reflect.set(redis, 'zmscore', async (...args: Parameters<typeof ask>) => {
      const found = await Reflect.apply(ask, redis, args)
      stoodStill ??= optOutAll(3)
      return found
    })
    await product.run({ redis })
    expect([stoodStill !== undefined, product.sent]).toEqual([true, []])
    // Each is in a job of its own, which finds out why and ends it.
    const ended = (await product.states()).filter((state) => state === 'cancelled')
    expect((await product.jobs()).length + ended.length).toBe(3)
  })

  test('a pause of the lane while its list is read slowly takes effect before the first message', async () => {
    const product = await begin(12)
    const { files } = lives.config
    const now = performance.now.bind(performance)
    const slow: typeof files = {
      ...files,
      async sizeOf(path) {
        await lives.queues.pause(life.lane)
        vi.spyOn(performance, 'now').mockImplementation(() => now() + 1_000)
        return files.sizeOf(path)
      },
    }
    try {
      expect(await product.run({ files: slow })).toBe('lane waits')
    } finally {
      vi.restoreAllMocks()
    }
    expect(product.sent).toEqual([])
  })

  test('an unreadable list pauses the campaign, and nobody is left out afterwards', async () => {
    const product = await begin(6)
    const unreadable = { ...lives.config.files, sizeOf: () => Promise.reject(new Error('gone')) }
    expect(await product.run({ files: unreadable })).toBe('done')
    const { state, reason } = await life.describe()
    expect([state, reason]).toEqual(['paused', expect.stringContaining('cannot be read')])
    expect(await ownAct(lives.redis, 'campaign.pause', campaignId(life.id))).toMatchObject({ detail: reason })
    await life.resume()
    expect(await product.run()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(6))
  })

  test('a worker that stops leaves what it has not claimed, and another one sends it', async () => {
    const product = await begin(12)
    const stop = new AbortController()
    product.answers((_to, nth) => {
      if (nth === 3) stop.abort()
      return ACCEPTED
    })
    expect(await product.run({ share: 2, stopping: stop.signal })).toBe('stopped')
    expect(product.sent.length).toBeLessThan(12)
    expect(await product.serve()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(12))
  })
})

describe('a message that cannot be sent now', () => {
  test('waits in a job of its own when its recipient is in a cooldown, and the others are sent', async () => {
    const product = await begin(6)
    const [, second] = phones(2)
    const refused = { kind: 'answered', status: 400, readable: true, code: 131_056, subcode: undefined } as const
    product.answers((to) => (to === second ? { ...refused, text: 'slow', retryAfterMs: undefined } : ACCEPTED))
    expect(await product.run()).toBe('done')
    expect(await product.jobs()).toEqual([life.messages[1]?.ulid])
    expect(await product.run()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(6).filter((phone) => phone !== second))
    expect((await life.describe()).progress).toMatchObject({ sent: 5, queued: 1 })
  })

  test('waits while the provider is away: in its own job if it was tried, else as its place', async () => {
    const product = await begin(30)
    product.answers(() => ({ kind: 'never_left', cause: 'refused' }))
    expect(await product.run()).toBe('lane waits')
    const tried = numberOf(await product.states(), 'queued')
    expect(tried).toBeGreaterThan(0)
    expect(tried).toBeLessThan(30)
    expect(await product.jobs()).toHaveLength(tried)
    expect(await placesOn(lives.redis, life.lane)).toHaveLength(30 - tried)
    expect(numberOf(await product.states(), undefined)).toBe(30 - tried)
    product.answers(() => ACCEPTED)
    await endCooldowns(lives.redis, life.lane)
    expect(await product.run()).toBe('done')
    await life.work(tried, 'sent')
    expect(product.sent.length + life.ledger.size).toBe(30)
    expect((await life.describe()).progress).toMatchObject({ sent: 30, queued: 0 })
  })

  test('ends as failed when its own job is a dead letter', async () => {
    const product = await begin(3)
    const [first] = life.messages
    const name = messageId(life.lane, first?.ulid ?? '')
    await addDeadLetter(lives.redis, name, 'no', 1)
    expect(await product.run()).toBe('done')
    expect(await product.states()).toEqual(['failed', 'sent', 'sent'])
  })

  test('ends as failed when three workers died after reading it alone, and the others are sent', async () => {
    const product = await begin(3)
    await product.feed()
    // Nobody knows which of the three killed the first worker.
    for (const by of ['one', 'two', 'three', 'four']) {
      await readNext(lives.redis, life.lane, { by, most: 10 })
      await readLongAgo(lives.redis, life.lane)
    }
    expect(await product.serve()).toBe('done')
    expect(await product.states()).toEqual(['failed', 'sent', 'sent'])
    const [first] = life.messages
    expect(first && (await readMessage(lives.redis, first))?.problem?.code).toBe('dead_letter')
    expect(await deadLettersOn(lives.redis, life.lane)).toBe(1)
  })

  test('waits while the files cannot be read, and its campaign goes on by itself', async () => {
    const product = await begin(6)
    let asked = 0
    const { files } = lives.config
    const away: typeof files = {
      ...files,
      sizeOf(path) {
        asked += 1
        return asked === 1 ? Promise.reject(new FilesAwayError('the bucket does not answer')) : files.sizeOf(path)
      },
    }
    expect(await product.run({ files: away })).toBe('done')
    expect(product.sent.sort()).toEqual(phones(6))
    expect((await life.describe()).state).toBe('running')
  })

  test('expires where it waits, also in the figures', async () => {
    const product = await begin(40)
    await campaignRecord(lives.redis, life.id).change({ resumed_at: 1 })
    expect(await product.run()).toBe('done')
    expect(product.sent).toEqual([])
    expect((await life.describe()).progress).toMatchObject({ expired: 40, queued: 0 })
  })
})

describe('a message that waits as a place', () => {
  const first = () => life.messages[0] ?? { lane: 0, ulid: '' }
  const fed = () => campaignRecord(lives.redis, life.id).change({ next: life.total })

  test('is found by its id from when it is fed until its campaign is paused', async () => {
    await begin(3)
    const look = () => findMessage(lives.redis, first(), Date.now(), lives.config)
    expect(await look()).toBeUndefined()
    await fed()
    expect(await look()).toMatchObject({ state: 'queued', to: phones(1)[0], class: 'campaign' })
    await life.pause()
    expect(await look()).toBeUndefined()
  })

  test('is cancelled by its id, and the others are sent', async () => {
    const product = await begin(3)
    await fed()
    expect(await cancelWherever(lives, first())).toEqual({ verdict: 'done', state: 'cancelled' })
    expect(await product.run()).toBe('done')
    expect(product.sent.sort()).toEqual(phones(2, 1))
    expect((await life.describe()).progress).toMatchObject({ cancelled: 1, sent: 2 })
  })

  test('is requeued by its id once its validity is over, while the others expire', async () => {
    const product = await begin(3)
    await fed()
    expect(await requeueMessage(lives, first())).toMatchObject({ verdict: 'missing' })
    await campaignRecord(lives.redis, life.id).change({ resumed_at: 1 })
    expect(await findMessage(lives.redis, first(), Date.now(), lives.config)).toMatchObject({ state: 'expired' })
    expect(await requeueMessage(lives, first())).toMatchObject({ verdict: 'done' })
    expect((await life.describe()).progress).toMatchObject({ queued: 3, expired: 0 })
    expect(await product.run()).toBe('done')
    expect(product.sent).toEqual(phones(1))
    expect((await life.describe()).progress).toMatchObject({ expired: 2, sent: 1 })
  })

  test('is unknown under an id that differs from its own', async () => {
    await begin(3)
    await fed()
    const { lane, ulid } = first()
    const other = { lane, ulid: `${ulid.slice(0, -1)}${ulid.endsWith('0') ? '1' : '0'}` }
    expect(await findMessage(lives.redis, other, Date.now(), lives.config)).toBeUndefined()
    expect(await cancelWherever(lives, other)).toEqual({ verdict: 'missing' })
  })
})

test('recipients without a state are fed, as many as there is room for', () => {
  const states = Array.from('.xx..x.xx.', (state) => (state === '.' ? undefined : ('sent' as const)))
  const [one, two, three] = [
    { from: 0, count: 1 },
    { from: 3, count: 2 },
    { from: 6, count: 1 },
  ]
  expect(spansToFeed(states, 4)).toEqual({ spans: [one, two, three], fed: 4, end: 9 })
  expect(spansToFeed(states, 2)).toEqual({ spans: [one, { from: 3, count: 1 }], fed: 2, end: 4 })
  expect(spansToFeed(states, 0)).toEqual({ spans: [], fed: 0, end: 0 })
  expect(spansToFeed(states, 100)).toMatchObject({ fed: 5, end: 10 })
})
