// Baseline: the floor, what a message costs at least that is provably sent, provably not sent, or in doubt. Its lane gives
// it away, a record claims it for one attempt and expires, those in doubt name it; its recipient's opt-out is read, it is
// signed, leaves in a slot of its number's pace, and is settled if that attempt still holds it. All lanes claim and settle
// in steps, and nothing is awaited for one message alone. It is no product: nobody reads what a crash leaves in doubt.
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Redis } from 'ioredis'
import { Agent, type Dispatcher } from 'undici'
import { z } from 'zod'
import { answerQuestions } from '../child.ts'

/** A lane claims and settles so often: at a pace, and without a limit. */
const STEP_MS = 100
const UNLIMITED_STEP_MS = 10
/** Lanes take turns in between, so that their steps do not come all at once. */
const TURN_MS = 10
/** Slots are looked at so often. */
const TICK_MS = 5
const MOST_IN_STEP = 500
/** Messages are claimed this long before they are due, so that a late step leaves no slot empty. */
const AHEAD_MS = 200
/** What a stall has cost is made up for, a second's worth at most, by messages that follow each other a tenth closer. */
const MADE_UP_MS = 1_000
const CLOSER = 1.1
/** Messages of all numbers that are claimed and wait for a connection, without a limit. */
const UNLIMITED_READY = 3_000
const RETENTION_MS = 30 * 86_400_000
/** Longer than any answer takes. */
const DOUBT_MS = 35_000

const CLAIM = `
  local ids = redis.call('LPOP', KEYS[1], ARGV[1])
  if not ids then return {} end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local claimed, doubted = {}, {}
  for n, id in ipairs(ids) do
    local content = redis.call('GETDEL', 'job:' .. id)
    redis.call('HSET', 'message:' .. id, 'state', 'claimed', 'attempt', ARGV[2], 'at', now, 'content', content)
    redis.call('PEXPIRE', 'message:' .. id, ARGV[3])
    doubted[2 * n - 1], doubted[2 * n] = now + ARGV[4], id
    claimed[2 * n - 1], claimed[2 * n] = id, content
  end
  redis.call('ZADD', KEYS[2], unpack(doubted))
  return claimed`

const SETTLE = `
  local settled = {}
  for n = 1, #ARGV, 3 do
    local message = 'message:' .. ARGV[n]
    local held = redis.call('HMGET', message, 'state', 'attempt')
    if held[1] == 'claimed' and held[2] == ARGV[n + 1] then
      redis.call('HSET', message, 'state', 'sent', 'provider_id', ARGV[n + 2])
      redis.call('HDEL', message, 'content')
      settled[#settled + 1] = ARGV[n]
    end
  end
  if #settled > 0 then
    redis.call('ZREM', KEYS[1], unpack(settled))
    redis.call('HINCRBY', KEYS[2], 'sent', #settled)
  end
  return #settled`

const startSchema = z.object({
  redisUrl: z.string(),
  url: z.string(),
  ca: z.string().optional(),
  http2: z.boolean(),
  numbers: z.array(z.object({ lane: z.number(), id: z.string() })),
  /** Messages a second and number; 0 for no limit. */
  pace: z.number(),
  /** Requests of a number that are under way at most, without a limit. */
  atOnce: z.number(),
  asksOptOuts: z.boolean(),
})
const claimedSchema = z.array(z.string())
const contentSchema = z.object({ to: z.string(), template: z.unknown() })
const answerSchema = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })
const HEADERS = { 'content-type': 'application/json', authorization: 'Bearer token' }

type Options = z.infer<typeof startSchema>
/** What all lanes of the worker share. */
interface Shared {
  options: Options
  redis: Redis
  agent: Agent
  claim: string
  settle: string
}

class Message implements Dispatcher.DispatchHandler {
  readonly id: string
  readonly attempt: string
  readonly to: string
  readonly body: string
  private readonly lane: Lane
  private answer = ''

  constructor(lane: Lane, id: string, attempt: string, content: string) {
    const { to, template } = contentSchema.parse(JSON.parse(content))
    this.lane = lane
    this.id = id
    this.attempt = attempt
    this.to = to
    const signature = createHmac('sha256', 'key').update(id).digest('base64url')
    this.body = JSON.stringify({
      messaging_product: 'whatsapp',
      recipient_type: 'individual',
      to,
      type: 'template',
      template,
      biz_opaque_callback_data: `${id}.${signature}`,
    })
  }

  onRequestStart(): void {}

  onResponseStart(): void {}

  onResponseData(_controller: Dispatcher.DispatchController, piece: Buffer): void {
    this.answer += piece.toString('latin1')
  }

  onResponseEnd(): void {
    const answer = answerSchema.safeParse(JSON.parse(this.answer))
    this.lane.isAnswered(this, answer.data?.messages[0].id)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    complain(error)
    this.lane.isAnswered(this, undefined)
  }
}

class Lane {
  private readonly shared: Shared
  private readonly number: Options['numbers'][number]
  private readonly path: string
  /** Claimed, in the order in which they leave. */
  private readonly ready: Message[] = []
  /** Id, attempt and provider's id of each message to settle. */
  private readonly answers: string[] = []
  private steps = 0
  private isClaiming = false
  private underWay = 0
  /** When the next message is due by the pace, and when it may leave after the one before it. */
  private dueMs = 0
  private earliestMs = 0

  constructor(shared: Shared, number: Options['numbers'][number]) {
    this.shared = shared
    this.number = number
    this.path = `/v25.0/${number.id}/messages`
  }

  /** The first message is due now. */
  begin(nowMs: number): void {
    this.dueMs = nowMs
  }

  /** Claims what is due until after the next step. */
  async claim(nowMs: number): Promise<void> {
    const count = Math.min(MOST_IN_STEP, this.wanted(nowMs))
    if (this.isClaiming || count < 1) return
    this.isClaiming = true
    try {
      const { redis, claim, options } = this.shared
      this.steps += 1
      const { lane } = this.number
      const attempt = `${process.pid}.${lane}.${this.steps}`
      const given = [count, attempt, RETENTION_MS, DOUBT_MS]
      const found = await redis.evalsha(claim, 2, `lane:${lane}`, `doubt:${lane}`, ...given)
      const claimed = claimedSchema.parse(found)
      if (claimed.length === 0) return
      const messages: Message[] = []
      for (let at = 0; at < claimed.length; at += 2) {
        messages.push(new Message(this, claimed[at] ?? '', attempt, claimed[at + 1] ?? ''))
      }
      const optedOut = options.asksOptOuts ? await redis.zmscore('opt-outs', ...messages.map(({ to }) => to)) : []
      for (const [at, message] of messages.entries()) if ((optedOut[at] ?? null) === null) this.ready.push(message)
    } finally {
      this.isClaiming = false
    }
    if (this.shared.options.pace === 0) this.leave(performance.now())
  }

  private wanted(nowMs: number): number {
    const { pace, numbers } = this.shared.options
    const most = pace === 0 ? UNLIMITED_READY / numbers.length : ((nowMs + AHEAD_MS - this.dueMs) * pace) / 1_000
    return Math.ceil(most) - this.ready.length
  }

  /** Sends what may leave by now. */
  leave(nowMs: number): void {
    const { pace, atOnce } = this.shared.options
    if (pace === 0) {
      while (this.ready.length > 0 && this.underWay < atOnce) this.send()
      return
    }
    const gapMs = 1_000 / pace
    this.dueMs = Math.max(this.dueMs, nowMs - MADE_UP_MS)
    while (this.ready.length > 0 && this.dueMs <= nowMs && this.earliestMs <= nowMs) {
      this.send()
      this.dueMs += gapMs
      // What a tick comes late does not add up.
      this.earliestMs = Math.max(this.earliestMs, nowMs - TICK_MS) + gapMs / CLOSER
    }
  }

  private send(): void {
    const message = this.ready.shift()
    if (message === undefined) return
    const { agent, options } = this.shared
    this.underWay += 1
    const request: Dispatcher.DispatchOptions = {
      origin: options.url,
      path: this.path,
      method: 'POST',
      headers: HEADERS,
      body: message.body,
      // Without it undici puts one POST at a time on a connection of HTTP/2.
      idempotent: options.http2,
    }
    agent.dispatch(request, message)
  }

  /** The answer to a message is there; without an id of the provider the message stays in doubt. */
  isAnswered({ id, attempt }: Message, providerId: string | undefined): void {
    this.underWay -= 1
    if (providerId !== undefined) this.answers.push(id, attempt, providerId)
    if (this.shared.options.pace === 0) this.leave(performance.now())
  }

  async settle(): Promise<void> {
    if (this.answers.length === 0) return
    const { redis, settle } = this.shared
    const { lane } = this.number
    await redis.evalsha(settle, 2, `doubt:${lane}`, `counts:${lane}`, ...this.answers.splice(0, 3 * MOST_IN_STEP))
  }
}

let lanes: Lane[] = []
let turns = 1
let isComplaining = true

/** Prints the first error only: the others are thousands of the same. What it was about stays in doubt. */
function complain(error: unknown): void {
  if (isComplaining) process.stderr.write(`the floor: ${error}\n`)
  isComplaining = false
}

async function start(options: Options): Promise<void> {
  const redis = new Redis(options.redisUrl, { maxRetriesPerRequest: null, enableAutoPipelining: true })
  const connect = options.ca === undefined ? {} : { ca: readFileSync(options.ca) }
  const agent = new Agent({ connect, allowH2: options.http2, ...(options.http2 && { pipelining: 100 }) })
  const load = async (script: string): Promise<string> => z.string().parse(await redis.script('LOAD', script))
  const shared = { options, redis, agent, claim: await load(CLAIM), settle: await load(SETTLE) }
  turns = (options.pace === 0 ? UNLIMITED_STEP_MS : STEP_MS) / TURN_MS
  lanes = options.numbers.map((number) => new Lane(shared, number))
}

async function release(): Promise<void> {
  for (const lane of lanes) lane.begin(performance.now())
  let turn = 0
  setInterval(() => {
    turn = (turn + 1) % turns
    const nowMs = performance.now()
    for (let at = turn; at < lanes.length; at += turns) {
      lanes[at]?.settle().catch(complain)
      lanes[at]?.claim(nowMs).catch(complain)
    }
  }, TURN_MS)
  setInterval(() => {
    const nowMs = performance.now()
    for (const lane of lanes) lane.leave(nowMs)
  }, TICK_MS)
}

answerQuestions({ start: (detail) => start(startSchema.parse(detail)), release })
