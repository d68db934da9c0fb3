// Asking over HTTP: each job of the contract as the request that asks for the same.
//
// A request that got no answer is made again until the time is over. Sends and new campaigns carry an idempotency key
// for that, one of the caller's or a new one; everything else says how something shall be, so asking twice is harmless.
import { randomUUID } from 'node:crypto'
import { type IntakeJob, type IntakeRequests, isAnswer, membersOf, type Refusal, readRefusal } from './contract.ts'
import { type LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable, notAsPromised } from './errors.ts'
import type { Lifetime } from './lifetime.ts'
import { ANSWER_LIMIT_MS, type Reply, type Transport } from './transport.ts'

/** Requests under way at a time. */
const AT_ONCE = 20
const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 2_000
/** Of the service, or of a proxy before it: nobody could work on the request. */
const AWAY = new Set([502, 503, 504])

interface HttpRequest {
  method: 'GET' | 'POST'
  path: string
  /** Without it there is no body. */
  body?: object
  /** Where the key travels. */
  keyIn: 'body' | 'bearer'
  idempotencyKey?: string | undefined
  traceparent?: string | undefined
  /** What of the answer's body is the answer of the job. */
  answer: (body: Readonly<Record<string, unknown>>) => unknown
}

const ofMove =
  (verb: string) =>
  ({ campaign_id, ...fields }: { campaign_id: string }): HttpRequest => ({
    method: 'POST',
    path: `/campaigns/${encodeURIComponent(campaign_id)}/${verb}`,
    body: fields,
    keyIn: 'bearer',
    answer: campaignNow,
  })

/** The campaign in an answer, as the jobs give it. */
function campaignNow({ data }: Readonly<Record<string, unknown>>): unknown {
  const { id, state } = membersOf(data)
  return { campaign_id: id, state }
}

const REQUESTS: { [J in IntakeJob]: (fields: IntakeRequests[J]) => HttpRequest } = {
  send: ({ message, idempotency_key = randomUUID(), traceparent }) => ({
    method: 'POST',
    path: message.type === 'template' ? '/chatappbusiness/send-templated-message' : '/sendservicemessages/sendmessages',
    body: message,
    keyIn: 'body',
    idempotencyKey: idempotency_key,
    traceparent,
    answer: ({ messages }) => ({ message_id: membersOf(Array.isArray(messages) ? messages[0] : undefined).id }),
  }),
  status: (fields) => ({
    method: 'POST',
    // The address is spelled like this.
    path: '/chatappbusiness/getmessgageinfobyid',
    body: fields,
    keyIn: 'body',
    answer: ({ message }) => message,
  }),
  'campaign-create': ({ campaign, idempotency_key = randomUUID() }) => ({
    method: 'POST',
    path: '/campaigns',
    body: campaign,
    keyIn: 'bearer',
    idempotencyKey: idempotency_key,
    answer: campaignNow,
  }),
  'campaign-preflight': ofMove('preflight'),
  'campaign-schedule': ofMove('schedule'),
  'campaign-start': ofMove('start'),
  'campaign-pause': ofMove('pause'),
  'campaign-resume': ofMove('resume'),
  'campaign-cancel': ofMove('cancel'),
  'campaign-show': ({ campaign_id }) => ({
    method: 'GET',
    path: `/campaigns/${encodeURIComponent(campaign_id)}`,
    keyIn: 'bearer',
    answer: ({ data }) => data,
  }),
}

/** For the service at this address, `https://…`. Asks for nothing yet; rejects when it is no such address. */
export async function openHttp(url: string, apiKey: string, life: Lifetime): Promise<Transport> {
  const base = baseOf(url)

  async function askFor<J extends IntakeJob>(job: J, fields: IntakeRequests[J], limitMs: number): Promise<Reply<J>> {
    const deadline = performance.now() + limitMs
    const request = REQUESTS[job](fields)
    let error: LanewayError = new LanewayTimeout('There was no answer in time. It may have been done all the same.')
    for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
      life.check()
      const left = deadline - performance.now()
      if (left <= 0) return { ok: false, error }
      const outcome = await exchange(
        base,
        apiKey,
        request,
        AbortSignal.any([life.signal, AbortSignal.timeout(Math.ceil(left))]),
      )
      if ('body' in outcome) {
        const answer = request.answer(outcome.body)
        const check = isAnswer[job]
        if (!check(answer)) throw notAsPromised(job)
        return { ok: true, answer }
      }
      if ('refusal' in outcome) return { ok: false, error: new LanewayRefused(outcome.refusal) }
      life.check()
      if ('away' in outcome) error = new LanewayUnavailable(outcome.away, { cause: outcome.cause })
      if (performance.now() + delay > deadline) return { ok: false, error }
      await life.sleep(delay)
    }
  }

  return {
    async ask(job, requests, timeoutMs = ANSWER_LIMIT_MS) {
      const replies: Reply<typeof job>[] = []
      // The runners share one list.
      const rest = requests.entries()
      const run = async (): Promise<void> => {
        for (const [i, fields] of rest) replies[i] = await askFor(job, fields, timeoutMs)
      }
      await Promise.all(Array.from({ length: AT_ONCE }, run))
      return replies
    },
    close: async () => {},
  }
}

/** A key as it is, so that it is the same one through the intake queue; what no header can hold is encoded. */
const headerOf = (key: string): string =>
  /^[!-~]([ -~]*[!-~])?$/.test(key) ? key : Buffer.from(key).toString('base64url')

function baseOf(url: string): string {
  const { protocol, href } = new URL(url)
  if (!/^https?:$/.test(protocol)) throw new TypeError(`The url must begin with https:// or http://, got ${protocol}`)
  return href.replace(/\/$/, '')
}

/** How one try ended. `late`: the time was over, or the client was closed. */
type Outcome =
  | { body: Readonly<Record<string, unknown>> }
  | { refusal: Refusal }
  | { away: string; cause?: unknown }
  | { late: true }

async function exchange(base: string, apiKey: string, request: HttpRequest, signal: AbortSignal): Promise<Outcome> {
  const { method, path, body, keyIn, idempotencyKey, traceparent } = request
  try {
    const response = await fetch(`${base}${path}`, {
      method,
      signal,
      // The key goes to nobody whom the caller did not name.
      redirect: 'manual',
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(keyIn === 'bearer' && { authorization: `Bearer ${apiKey}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': headerOf(idempotencyKey) }),
        ...(traceparent !== undefined && { traceparent: headerOf(traceparent) }),
      },
      ...(body && { body: JSON.stringify(keyIn === 'body' ? { ...body, api_key: apiKey } : body) }),
    })
    const answer = membersOf(await response.json().catch(() => undefined))
    if (response.ok) return { body: answer }
    if (AWAY.has(response.status)) return { away: `The service is away: it answered ${response.status}.` }
    return { refusal: refusalOf(response.status, answer) }
  } catch (cause) {
    if (signal.aborted) return { late: true }
    return { away: 'The service cannot be reached; check its address.', cause }
  }
}

/** Laneway says why in `message` and `error`; anything else is not Laneway. */
function refusalOf(status: number, { message, error }: Readonly<Record<string, unknown>>): Refusal {
  const refusal = readRefusal({ ...membersOf(error), message })
  return (
    refusal ?? { code: 'unexpected_answer', message: `The address answered ${status}: is it Laneway?`, details: [] }
  )
}
