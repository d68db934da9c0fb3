// Requests to WhatsApp's Graph API: questions about templates, numbers, accounts and tokens, and deletions. The token is in a
// header and in nothing that is shown or logged; it is taken out of WhatsApp's error texts, which repeat bad tokens. No
// redirect is followed: it could lead anywhere, with the token.
import { request } from 'undici'
import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { HOUR_MS } from '../kernel/time-units.ts'
import { causeOf, readRetryAfter, readText } from '../outbound/answers.ts'
import { createTargetAgent } from '../outbound/target-agent.ts'
import { anywhere } from '../outbound/target-rule.ts'
import { parseJson } from './answer-body.ts'
import { plainText } from './webhook-fields.ts'

/** Connections of one process to all servers. */
const MOST_OPEN = 16
type Query = Readonly<Record<string, string>>
/** What a question may cost. */
interface Limits {
  ms: number
  bytes: number
  signal?: AbortSignal
}
/** Unless it says otherwise. */
const LIMITS: Limits = { ms: 10_000, bytes: 256 * 1024 }

/** Whose question it is. */
export interface GraphAccess {
  baseUrl: string
  token: string
}

/** How a question ended. */
export type GraphEnd =
  /** `atMs`: the answer covers all that was so at this time, by WhatsApp's clock, which is never taken to be ahead of ours. */
  | { kind: 'answer'; body: unknown; atMs: number; backoffMs: number | undefined }
  /** `backoffMs`: WhatsApp throttles, and for how long, if given. */
  | GraphRefusal
  /** No answer that could be read; `cause` is a word for the log. */
  | { kind: 'unavailable'; cause: string }

export interface GraphRefusal {
  kind: 'refused'
  status: number
  code: number | undefined
  subcode: number | undefined
  /** WhatsApp's own sentence, without numbers and secrets. */
  says: string
  isThrottled: boolean
  backoffMs: number | undefined
}

export type GraphApi = ReturnType<typeof createGraphApi>

/** `version`: of the Graph API, as in `v25.0`. */
export function createGraphApi(version: string, now: () => number = Date.now) {
  const agent = createTargetAgent(anywhere, MOST_OPEN)

  async function call(
    method: 'GET' | 'DELETE',
    { baseUrl, token }: GraphAccess,
    path: string,
    query: Query = {},
    { ms, bytes, signal }: Limits = LIMITS,
  ): Promise<GraphEnd> {
    const startedMs = now()
    const bound = AbortSignal.timeout(ms)
    try {
      const { statusCode, headers, body } = await request(
        `${baseUrl}/${version}/${path}?${new URLSearchParams(query)}`,
        {
          dispatcher: agent,
          method,
          headers: { authorization: `Bearer ${token}`, 'user-agent': 'laneway', 'accept-encoding': 'identity' },
          signal: signal ? AbortSignal.any([bound, signal]) : bound,
        },
      )
      const answer = parseJson(await readText(body, bytes))
      const backoffMs = backoffOf(headers)
      if (statusCode !== 200)
        return refusalOf(statusCode, answer, { token, backoffMs: backoffMs ?? retryAfterOf(headers) })
      if (typeof answer !== 'object' || answer === null) return { kind: 'unavailable', cause: 'unreadable_answer' }
      // A proxy may answer 200 to an error.
      if ('error' in answer) return refusalOf(statusCode, answer, { token, backoffMs })
      return { kind: 'answer', body: answer, backoffMs, atMs: momentOf(headers, startedMs, now()) }
    } catch (error) {
      return { kind: 'unavailable', cause: causeOf(error) }
    }
  }

  return {
    /**
     * Asks for `path` (below the version) and never rejects. The answer is an object of at most `bytes`, and whole within
     * `ms`.
     */
    ask: (access: GraphAccess, path: string, query?: Query, limits?: Limits): Promise<GraphEnd> =>
      call('GET', access, path, query, limits),

    /** The same of what is to be deleted. */
    remove: (access: GraphAccess, path: string, query?: Query, limits?: Limits): Promise<GraphEnd> =>
      call('DELETE', access, path, query, limits),

    close: (): Promise<void> => agent.destroy(),
  }
}

type Headers = Readonly<Record<string, string | string[] | undefined>>
const headerOf = (headers: Headers, name: string): string | undefined => {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** WhatsApp's clock at the answer, less the duration of the request; our clock at the request if the answer has no time. */
function momentOf(headers: Headers, startedMs: number, endedMs: number): number {
  const date = Date.parse(headerOf(headers, 'date') ?? '')
  return Number.isNaN(date) ? startedMs : Math.min(date - (endedMs - startedMs), startedMs)
}

const errorSchema = z.object({
  error: z.object({
    message: z.string().optional().catch(undefined),
    error_user_msg: z.string().optional().catch(undefined),
    code: z.number().optional().catch(undefined),
    error_subcode: z.number().optional().catch(undefined),
  }),
})

/** Too many calls: of the app, a user, a business account, a number. */
const THROTTLED: ReadonlySet<number | undefined> = new Set([4, 17, 32, 341, 613, 80007, 80008, 80014, 130429])

function refusalOf(
  status: number,
  answer: unknown,
  { token, backoffMs }: { token: string; backoffMs: number | undefined },
): GraphEnd {
  const { data } = errorSchema.safeParse(answer)
  if (data === undefined) {
    if (status === 429)
      return { ...NOTHING, kind: 'refused', status, says: 'too many requests', isThrottled: true, backoffMs }
    return { kind: 'unavailable', cause: `http_${status}` }
  }
  const { code, error_subcode: subcode, message, error_user_msg: sentence } = data.error
  const text = cutText(sentence ?? message ?? '', 2_000).replaceAll(token, '…')
  // That takes long words out, too: a token that was cut, or another one.
  const says = plainText.parse(text)
  const isThrottled = status === 429 || THROTTLED.has(code)
  return { kind: 'refused', status, code, subcode, says, isThrottled, backoffMs }
}

const NOTHING = { code: undefined, subcode: undefined }

const usageSchema = z.record(
  z.string(),
  z.array(
    z.object({
      call_count: z.number().optional().catch(undefined),
      total_cputime: z.number().optional().catch(undefined),
      total_time: z.number().optional().catch(undefined),
      /** Minutes. */
      estimated_time_to_regain_access: z.number().optional().catch(undefined),
    }),
  ),
)

/** No backoff is longer than this, whatever an answer asks. */
const LONGEST_BACKOFF_MS = HOUR_MS
/** Backoff when the allowance is used up without an end. */
const USED_UP_MS = 300_000

/** The backoff by WhatsApp's usage header; undefined while some of the allowance is left. */
function backoffOf(headers: Headers): number | undefined {
  const text = headerOf(headers, 'x-business-use-case-usage')
  const usage = text === undefined ? undefined : usageSchema.safeParse(parseJson(text)).data
  const all = Object.values(usage ?? {}).flat()
  const minutes = Math.max(0, ...all.map((each) => each.estimated_time_to_regain_access ?? 0))
  if (minutes > 0) return Math.min(minutes * 60_000, LONGEST_BACKOFF_MS)
  const isUsedUp = all.some(({ call_count: calls = 0, total_cputime: cpu = 0, total_time: time = 0 }) =>
    [calls, cpu, time].some((percent) => percent >= 100),
  )
  return isUsedUp ? USED_UP_MS : undefined
}

function retryAfterOf(headers: Headers): number | undefined {
  const retryAfterMs = readRetryAfter(headers['retry-after'], Date.now())
  return retryAfterMs && Math.min(retryAfterMs, LONGEST_BACKOFF_MS)
}
