// Delivers webhooks: keeps changes until they are due, posts what is due together in one request, and repeats what was
// not answered with 200. One timer serves all messages: changes wait in buckets of TICK_MS, and an accepted message has
// no timer of its own, because a run has a million of them.
//
// Order: changes due at different ticks leave in order but may arrive in another, since several posts are under way at
// once and a repeated one comes later. WhatsApp promises no more.

import { Agent, request } from 'undici'
import { type Change, type DisplayNumberOf, signatureOf, webhookBody } from './webhook-body.ts'

const TICK_MS = 20
/** Updates in one POST, WhatsApp's published maximum. */
const BATCH = 1000
const CONCURRENT_POSTS = 8
const ANSWER_LIMIT_MS = 10_000
/** Waits before the repeats: 0.25 s doubling to at most 30 s, about three minutes in all; the real one goes on for days. */
const REPEATS = 12
const FIRST_WAIT_MS = 250
const LONGEST_WAIT_MS = 30_000
/** How long close() waits for posts that are under way. */
const CLOSE_LIMIT_MS = 1000

interface Batch {
  changes: Change[]
  /** Posts that failed so far. */
  failures: number
}

/**
 * Posts changes to one address, signed with the app secret, each until it is answered 200 or was repeated 12 times.
 */
export class Webhooks {
  /** Where to post; null: none are sent. */
  url: string | null
  readonly #appSecret: string
  readonly #displayNumberOf: DisplayNumberOf
  readonly #agent = new Agent({ connections: CONCURRENT_POSTS })
  readonly #buckets = new Map<number, Change[]>()
  #lastTick = 0
  #clock: NodeJS.Timeout | null = null
  #due: Change[] = []
  readonly #repeats: Batch[] = []
  readonly #waits = new Set<NodeJS.Timeout>()
  readonly #posts = new Set<Promise<boolean>>()
  #closed = false
  #counts = { waiting: 0, delivered: 0, given_up: 0 }

  constructor(url: string | null, appSecret: string, displayNumberOf: DisplayNumberOf) {
    this.url = url
    this.#appSecret = appSecret
    this.#displayNumberOf = displayNumberOf
  }

  /** Changes not delivered yet, delivered, and given up after the last repeat. */
  get counts(): { waiting: number; delivered: number; given_up: number } {
    return { ...this.#counts }
  }

  /** Posts a change when `dueMs` (epoch) has come. */
  schedule(change: Change, dueMs: number): void {
    if (this.#closed || this.url === null) return
    if (this.#clock === null) {
      this.#lastTick = tickBefore(Date.now())
      this.#clock = setInterval(() => this.#tick(), TICK_MS)
    }
    const tick = Math.max(tickAfter(dueMs), this.#lastTick + 1)
    const bucket = this.#buckets.get(tick)
    if (bucket === undefined) this.#buckets.set(tick, [change])
    else bucket.push(change)
    this.#counts.waiting += 1
  }

  /** Posts changes at once and resolves to whether they were answered with 200; if not they are repeated like any other. */
  deliver(changes: Change[]): Promise<boolean> {
    this.#counts.waiting += changes.length
    return this.#send({ changes, failures: 0 })
  }

  /** Gives up what is not due yet and waits a moment for posts that are under way. */
  async close(): Promise<void> {
    this.#closed = true
    if (this.#clock !== null) clearInterval(this.#clock)
    for (const wait of this.#waits) clearTimeout(wait)
    const limit = new Promise((resolve) => setTimeout(resolve, CLOSE_LIMIT_MS).unref())
    await Promise.race([Promise.allSettled(this.#posts), limit])
    await this.#agent.destroy()
  }

  #tick(): void {
    const now = tickBefore(Date.now())
    for (let tick = this.#lastTick + 1; tick <= now; tick += 1) {
      const bucket = this.#buckets.get(tick)
      if (bucket === undefined) continue
      this.#buckets.delete(tick)
      for (const change of bucket) this.#due.push(change)
    }
    this.#lastTick = Math.max(this.#lastTick, now)
    this.#pump()
    if (this.#buckets.size === 0 && this.#clock !== null) {
      clearInterval(this.#clock)
      this.#clock = null
    }
  }

  /** Starts as many posts as may be under way. */
  #pump(): void {
    while (!this.#closed && this.#posts.size < CONCURRENT_POSTS) {
      const batch = this.#repeats.shift() ?? this.#nextBatch()
      if (batch === null) return
      void this.#send(batch)
    }
  }

  #nextBatch(): Batch | null {
    if (this.#due.length === 0) return null
    const changes = this.#due.slice(0, BATCH)
    this.#due = this.#due.slice(BATCH)
    return { changes, failures: 0 }
  }

  async #send(batch: Batch): Promise<boolean> {
    const post = this.#post(batch.changes)
    this.#posts.add(post)
    const answered = await post
    this.#posts.delete(post)
    if (answered) this.#settle(batch, 'delivered')
    else if (batch.failures >= REPEATS || this.url === null) this.#settle(batch, 'given_up')
    else if (!this.#closed) this.#repeatLater({ changes: batch.changes, failures: batch.failures + 1 })
    this.#pump()
    return answered
  }

  async #post(changes: Change[]): Promise<boolean> {
    if (this.url === null) return false
    const body = webhookBody(changes, this.#displayNumberOf)
    const headers = {
      'content-type': 'application/json',
      'user-agent': 'laneway-simulator',
      'x-hub-signature-256': signatureOf(body, this.#appSecret),
    }
    try {
      const signal = AbortSignal.timeout(ANSWER_LIMIT_MS)
      const response = await request(this.url, { method: 'POST', body, headers, dispatcher: this.#agent, signal })
      await response.body.dump()
      return response.statusCode === 200
    } catch {
      // not listening, reset or too late: the same as any answer but 200
      return false
    }
  }

  #settle(batch: Batch, outcome: 'delivered' | 'given_up'): void {
    this.#counts.waiting -= batch.changes.length
    this.#counts[outcome] += batch.changes.length
    if (outcome === 'delivered') for (const { answered } of batch.changes) answered?.(Date.now())
  }

  #repeatLater(batch: Batch): void {
    const waitMs = Math.min(FIRST_WAIT_MS * 2 ** (batch.failures - 1), LONGEST_WAIT_MS)
    const wait = setTimeout(() => {
      this.#waits.delete(wait)
      this.#repeats.push(batch)
      this.#pump()
    }, waitMs)
    this.#waits.add(wait)
  }
}

// Nothing leaves before it is due: its content is true only from then on.
const tickAfter = (epochMs: number): number => Math.ceil(epochMs / TICK_MS)
const tickBefore = (epochMs: number): number => Math.floor(epochMs / TICK_MS)
