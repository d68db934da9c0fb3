// Every route that there may be, and who may use it: what the generated tests hold the running application to. A new
// route is declared in the table, or a test fails.
import { expect } from 'vitest'
import { errorOf } from './api-error.ts'
import type { DeclaredRoute } from './route-table.ts'
import { NAMES_A_KEY } from './state/everything.ts'

export { DECLARED, type DeclaredRoute, ONE_OF_EACH_EDGE, withParameters } from './route-table.ts'

export interface Inspected {
  status: number
  headers: Headers
  text: string
  json: unknown
}

/** What no answer may hold: traces of the code, of Redis, of the machine. */
const LEAKS =
  /\bat [\w.<> ]+ \((?:file:|node:|\/)|\.[jt]s:\d+|node_modules|EVALSHA|WRONGTYPE|ReplyError|ECONNREFUSED|redis|\/src\/|\/dist\//i

/** A request whose answer is looked at as every answer must be: named, silent about our inside, errors in the envelope. */
export async function inspect(url: string, init: RequestInit & { duplex?: 'half' } = {}): Promise<Inspected> {
  const answer = await fetch(url, { redirect: 'manual', ...init })
  const text = await answer.text()
  const about = `${init.method ?? 'GET'} ${url}: ${answer.status} ${text.slice(0, 300)}`
  expect(answer.headers.get('x-request-id'), about).toMatch(/^[\w.:-]{1,128}$/)
  expect(answer.headers.get('x-powered-by'), about).toBeNull()
  // A snapshot, an operator's metrics and a refusal for want of its memory tell of Redis, by its name.
  const namesRedis = /\/console\/(snapshot|stream)|\/metrics$/.test(url) || text.includes('"memory_reserve"')
  const told = namesRedis ? text.replaceAll(/redis/gi, '') : text
  expect(told, about).not.toMatch(LEAKS)
  expect(told, about).not.toMatch(NAMES_A_KEY)
  const isJson = answer.headers.get('content-type')?.startsWith('application/json') ?? false
  const json: unknown = isJson && text !== '' ? JSON.parse(text) : undefined
  if (answer.status >= 400 && init.method !== 'HEAD') {
    expect(isJson, about).toBe(true)
    expect(errorOf({ json }).request_id, about).toBe(answer.headers.get('x-request-id'))
  }
  return { status: answer.status, headers: answer.headers, text, json }
}

/** Calls a declared route with a key, in the place where the route looks for it. */
export function callDeclared(
  base: string,
  route: DeclaredRoute,
  key: unknown,
  {
    path = route.path,
    body = {},
    headers: more = {},
  }: { path?: string; body?: Record<string, unknown>; headers?: Record<string, string> } = {},
): Promise<Inspected> {
  const inBody = route.key === 'api_key' && key !== undefined ? { api_key: key } : {}
  const headers: Record<string, string> = { ...more }
  if (route.key === 'bearer' && key !== undefined) headers.authorization = String(key)
  const hasBody = !['GET', 'DELETE', 'HEAD'].includes(route.method)
  if (hasBody) headers['content-type'] = 'application/json'
  return inspect(base + path, {
    method: route.method,
    headers,
    ...(hasBody ? { body: JSON.stringify({ ...body, ...inBody }) } : {}),
  })
}
