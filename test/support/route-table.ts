// The table of all routes as tests and the proof use it: each address with parameters that could be right, and what the
// edge does before a handler sees a request.

import type { Permission } from '../../src/accounts/credentials.ts'
import { JSON_LIMIT_BYTES } from '../../src/kernel/body-limits.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import type { RouteSpec } from '../../src/producer/route.ts'

export interface DeclaredRoute {
  /** `POST /folders/:id` */
  name: string
  method: string
  /** With its parameters replaced by values that could be right. */
  path: string
  /** Where the key travels; `none` for routes that look after themselves. */
  key: 'api_key' | 'bearer' | 'none'
  needs: Permission | undefined
  /** These permissions will do as well. */
  also: readonly Permission[]
  /** `object`: a JSON object is asked for; `maybe`: it may be left out; `other`: no JSON. */
  body: 'object' | 'maybe' | 'other'
  limitBytes: number
  /** All by which the edge takes keys and bodies at this route; those with the same run through the same code. */
  edge: string
}

/** Values that parameters may have; none of these things exists. */
const PARAMETERS: Readonly<Record<string, string>> = {
  folder_id: '999999',
  file_id: '999999',
  job_id: 'mv_01JD3V5T9GZQ4XNB8M2K6R0WCY',
  token: 'no-such-token',
  name: 'x.png',
  id: 'cmp_999999_1',
  lane: '999999',
  key: 'key_000000000000',
}

/** Without it the answer would never end. */
const QUERIES: Readonly<Record<string, string>> = { '/console/stream': '?limit=1' }

export const withParameters = (path: string, values: Readonly<Record<string, string>> = PARAMETERS): string =>
  path.replaceAll(/:(\w+)/g, (whole, name: string) => values[name] ?? whole)

/** Every address of the table, also those in which a parameter is left out. */
export const DECLARED: readonly DeclaredRoute[] = ROUTES.flatMap((spec) =>
  [spec.path, ...(spec.alsoAt === undefined ? [] : [spec.alsoAt])].map((path) => declared(spec, path)),
)

/**
 * The first route of each edge. What depends on nothing else is tried in all its variants at these, and in one or two at
 * every route.
 */
export const ONE_OF_EACH_EDGE: ReadonlySet<DeclaredRoute> = new Set(
  new Map(DECLARED.toReversed().map((route) => [route.edge, route])).values(),
)

function declared(spec: RouteSpec, path: string): DeclaredRoute {
  const { access, body } = spec
  const method = spec.method.toUpperCase()
  const limitBytes = ('limit' in body ? body.limit : undefined) ?? JSON_LIMIT_BYTES
  const ofKey = [access.in, 'missing' in access, access.in !== 'open' && access.permission === OPERATOR]
  const ofBody = [body.as, 'mayBeAbsent' in body, 'readBy' in body, limitBytes]
  return {
    name: `${method} ${path}`,
    method,
    path: withParameters(path) + (QUERIES[path] ?? ''),
    key: access.in === 'open' ? 'none' : access.in,
    needs: access.in === 'open' ? undefined : access.permission,
    also: 'also' in access ? (access.also ?? []) : [],
    body: body.as !== 'json' ? 'other' : body.mayBeAbsent ? 'maybe' : 'object',
    limitBytes,
    edge: [...ofKey, ...ofBody].join(' '),
  }
}
