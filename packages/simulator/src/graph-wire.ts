// Reads of the Graph API: `GET /v{n}.{m}/{id}` with `fields`, `/{id}/message_templates`, `/{id}/phone_numbers`,
// `/{id}/subscribed_apps`, `/debug_token`; two commands that set a number up: `POST /{id}/register`,
// `POST /{id}/subscribed_apps`; and `DELETE /{id}/contact_book` of a person.

import type { IncomingMessage } from 'node:http'
import type { Answer } from './answers.ts'
import type { GraphAccount } from './graph-account.ts'

/** A request; `token` is the bearer's, which has been checked. */
interface Question {
  request: IncomingMessage
  path: string
  query: URLSearchParams
  token: string
}

/** A refusal in the envelope of the Graph API, and headers that go with it. */
export type GraphError = (code: number, http: number, headers: Record<string, string>) => Answer

const PATH = /^\/v\d+\.\d+\/(debug_token|\d+)(?:\/(\w+))?$/
/** Not that of a parent company. */
const USER_ID = /^[A-Z]{2}\.[A-Za-z0-9]+$/
const NUMBER_FIELD = /display_phone_number|quality_rating|throughput|name_status|messaging_limit/

/** Answers a request; undefined where the path is none of these. */
export function serveGraph(
  account: GraphAccount,
  { request, path, query, token }: Question,
  { error, missing }: { error: GraphError; missing: () => Answer },
): Answer | undefined {
  const [, id = '', edge] = PATH.exec(path) ?? []
  if (id === '') return undefined
  const asked = `${request.method} ${id === 'debug_token' ? id : (edge ?? 'object')}`
  const answer = ANSWERS[asked]
  if (answer === undefined || (asked === 'GET object' && !query.has('fields'))) return undefined
  account.asked += 1
  const refusal = account.refusal()
  if (refusal !== null) {
    const { code, http, retry_after_s: retryS, regain_access_min: minutes } = refusal
    const usage = { type: 'messaging', call_count: 100, total_cputime: 1, total_time: 1 }
    const used = JSON.stringify({ [id]: [{ ...usage, estimated_time_to_regain_access: minutes }] })
    return error(code, http, {
      ...(retryS !== undefined && { 'retry-after': String(retryS) }),
      ...(minutes !== undefined && { 'x-business-use-case-usage': used }),
    })
  }
  const isOfAccount = edge !== undefined && edge !== 'register' && edge !== 'contact_book'
  if (isOfAccount && !account.isAccount(id)) return missing()
  const host = request.headers.host ?? 'localhost'
  return answer(account, { id, query, base: `http://${host}${path}?access_token=${token}` }) ?? missing()
}

type Asked = { id: string; query: URLSearchParams; base: string }
const ok = (body: unknown): Answer => ({ http: 200, body })

const ANSWERS: Readonly<Record<string, (account: GraphAccount, asked: Asked) => Answer | undefined>> = {
  'GET message_templates': (account, { query, base }) =>
    ok(account.templates(query.get('after'), Number(query.get('limit') ?? 25), base)),
  'GET phone_numbers': (account) => ok(account.numbers()),
  'GET subscribed_apps': (account) => ok(account.apps()),
  'GET debug_token': (account) => ok(account.token()),
  'GET object'(account, { id, query }) {
    const wanted = (query.get('fields') ?? '').split(',')
    if (NUMBER_FIELD.test(wanted.join())) return ok(picked(account.number(id), wanted))
    return account.isAccount(id) ? ok(picked(account.account(id), wanted)) : undefined
  },
  'DELETE contact_book'(account, { query }) {
    const userId = query.get('bsuid') ?? ''
    if (query.get('messaging_product') !== 'whatsapp' || !USER_ID.test(userId)) return undefined
    return ok({ messaging_product: 'whatsapp', success: true, deleted: account.forget(userId) })
  },
  'POST register'(account) {
    account.register()
    return ok({ success: true })
  },
  'POST subscribed_apps'(account) {
    account.subscribe()
    return ok({ success: true })
  },
}

/** The requested fields; the id always comes along. */
const picked = (all: Record<string, unknown>, wanted: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(all).filter(([name]) => name === 'id' || wanted.includes(name)))
