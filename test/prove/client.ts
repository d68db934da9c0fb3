// The customer's side: posts messages at an even rate, each with an Idempotency-Key and a recipient of its own, and
// keeps a log of every answer. When a producer refuses, resets or answers 503 it repeats with the same key, at the next
// producer. This log, and nothing of ours, says what was accepted.
import { z } from 'zod'
import { type HttpAnswer, postJson } from './http.ts'
import { TEMPLATE, type Tenant } from './tenant.ts'
import { pause } from './wait.ts'

/** One answer, or the lack of one. */
export interface Answered {
  /** Epoch ms of the answer. */
  atMs: number
  /** HTTP status; 0 when none came. */
  status: number
  /** Id in an acknowledgement. */
  id: string | undefined
  /** From the request to the answer (ms), of a message by itself. */
  tookMs?: number
}

/** Everything the client knows of one message. */
export interface Posted {
  tenant: Tenant
  /** Digits of the recipient; no two messages share one. */
  to: string
  /** ISO 8601: it is not to be sent sooner. */
  sendAt?: string | undefined
  answers: Answered[]
}

export interface Client {
  log: readonly Posted[]
  /**
   * Posts one message to each recipient at `perSecond`, to be sent at `sendAt` (ISO 8601) if it is given, and resolves when
   * each was acknowledged or given up.
   */
  post(tenant: Tenant, recipients: readonly string[], perSecond: number, sendAt?: string): Promise<void>
  /** Takes a message into the log that was asked for otherwise, as one of a campaign. */
  note(tenant: Tenant, to: string, id: string): void
  /** The same of somebody who asks for more than may be: what was refused with 429 is not in the log, and is counted. */
  flood(tenant: Tenant, recipients: readonly string[], perSecond: number): Promise<{ refused: number }>
  /** Posts one message to each recipient in batches, as fast as they are answered. */
  postBatches(tenant: Tenant, recipients: readonly string[]): Promise<void>
  /** Posts the very same request so many times at once, key and all. */
  race(tenant: Tenant, to: string, atOnce: number): Promise<void>
  /** How far it is, for a progress line. */
  acknowledged(): number
}

/** The answer to a batch is read without a care for those that were refused: they stay without an acknowledgement. */
const batchResults = z.object({ results: z.array(z.object({ index: z.number(), id: z.string().optional() })) })
const BATCH = 1_000

const acknowledgement = z.object({ messages: z.array(z.object({ id: z.string() })).length(1) })

/** How long the client goes on repeating before it gives a message up: on a machine ten times slower all take that much longer. */
const GIVES_UP_AFTER_MS = 600_000
/** The messages of so many seconds are under way at once at most: who is answered late asks for less. */
const MOST_SECONDS_UNDER_WAY = 2
const REPEATS_AFTER_MS = 100

/** `producers` gives the addresses to use, at every request anew. */
export function createClient(producers: () => readonly string[]): Client {
  const log: Posted[] = []
  let acknowledged = 0

  async function postOne(posted: Posted, first: number): Promise<void> {
    const { path, body } = requestOf(posted)
    const end = Date.now() + GIVES_UP_AFTER_MS
    for (let turn = first; Date.now() < end; turn += 1) {
      const urls = producers()
      const url = urls[turn % urls.length]
      if (url !== undefined) {
        const askedAt = performance.now()
        const answer = await postJson(`${url}${path}`, body, { 'idempotency-key': `order ${posted.to}` })
        const tookMs = performance.now() - askedAt
        posted.answers.push({ atMs: Date.now(), status: answer.status, id: idIn(answer), tookMs })
        if (answer.status === 200) {
          acknowledged += 1
          return
        }
        // Anything but trouble is for good: repeating it would bring the same.
        if (answer.status !== 0 && answer.status < 500) return
      }
      await pause(REPEATS_AFTER_MS)
    }
  }

  const client: Client = {
    log,
    acknowledged: () => acknowledged,
    async post(tenant, recipients, perSecond, sendAt) {
      const begunAt = performance.now()
      const underWay = new Set<Promise<void>>()
      for (const [n, to] of recipients.entries()) {
        const early = begunAt + (n / perSecond) * 1_000 - performance.now()
        if (early > 1) await pause(early)
        while (underWay.size >= MOST_SECONDS_UNDER_WAY * perSecond) await Promise.race(underWay)
        const posted = { tenant, to, sendAt, answers: [] }
        log.push(posted)
        const one = postOne(posted, n).then(() => void underWay.delete(one))
        underWay.add(one)
      }
      await Promise.all(underWay)
    },
    note(tenant, to, id) {
      acknowledged += 1
      log.push({ tenant, to, answers: [{ atMs: Date.now(), status: 200, id }] })
    },
    async flood(tenant, recipients, perSecond) {
      await client.post(tenant, recipients, perSecond)
      const mine = new Set(recipients)
      const isRefused = ({ to, answers }: Posted): boolean => mine.has(to) && answers.at(-1)?.status === 429
      const kept = log.filter((posted) => !isRefused(posted))
      const refused = log.length - kept.length
      log.splice(0, log.length, ...kept)
      return { refused }
    },
    async postBatches(tenant, recipients) {
      for (let from = 0; from < recipients.length; from += BATCH) {
        const batch = recipients.slice(from, from + BATCH).map((to): Posted => ({ tenant, to, answers: [] }))
        log.push(...batch)
        const messages = batch.map(({ to }) => messageTo(tenant, to))
        const headers = {
          authorization: `Bearer ${tenant.apiKey}`,
          'idempotency-key': `batch ${batch[0]?.to}`,
        }
        const answer = await postJson(`${producers()[0]}/messages/batch`, { messages }, headers)
        const answered = { atMs: Date.now(), status: answer.status }
        const results = answer.status === 200 && 'body' in answer ? batchResults.parse(answer.body).results : []
        const ids = new Map(results.map(({ index, id }) => [index, id]))
        for (const [n, { answers }] of batch.entries()) {
          answers.push({ ...answered, id: ids.get(n) })
          if (ids.get(n) !== undefined) acknowledged += 1
        }
      }
    },
    async race(tenant, to, atOnce) {
      const posted = { tenant, to, answers: [] }
      log.push(posted)
      await Promise.all(Array.from({ length: atOnce }, (_each, n) => postOne(posted, n)))
    },
  }
  return client
}

/** The id of the acknowledgement, when there was one. */
export const acceptedId = (posted: Posted): string | undefined => posted.answers.find(({ id }) => id !== undefined)?.id

/** Trouble with Redis is answered 503; 500 says that something went wrong that nobody thought of. */
export const answers500 = (log: readonly Posted[]) => ({
  what: 'answers 500',
  value: log.flatMap(({ answers }) => answers).filter(({ status }) => status === 500).length,
  unit: 'answers',
  atMost: 0,
})

function idIn(answer: HttpAnswer): string | undefined {
  if (answer.status !== 200 || !('body' in answer)) return undefined
  return acknowledgement.parse(answer.body).messages[0]?.id
}

function requestOf({ tenant, to, sendAt }: Posted): { path: string; body: string } {
  const path = tenant.campaign ? '/chatappbusiness/send-templated-message' : '/sendservicemessages/sendmessages'
  return { path, body: JSON.stringify({ api_key: tenant.apiKey, ...messageTo(tenant, to), send_at: sendAt }) }
}

function messageTo(tenant: Tenant, to: string): object {
  const common = { messaging_product: 'chatapp', recipient_type: 'individual', to: `+${to}` }
  if (!tenant.campaign) {
    const image = { link: 'https://example.com/a.jpg', caption: `For ${to}` }
    return { ...common, type: 'image', image }
  }
  const template = { name: TEMPLATE, language: { code: 'en_US' } }
  return { ...common, sender: 'main', campaign_id: 'proof', type: 'template', template }
}
