// Pins: at every address, a field that is a misspelling of a known one is refused with the right name, wherever in the body it
// stands and whatever the account's setting says; any other unknown field is refused, or ignored where the setting says so.
// Made from the table of routes and their examples, so that a new route is asked as well.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { setAccountSettings } from '../../src/accounts/accounts.ts'
import { createCredential, type Permission } from '../../src/accounts/credentials.ts'
import { fieldNamesOf } from '../../src/kernel/field-names.ts'
import { NO_ACCOUNT, OPERATOR } from '../../src/model/accounts/permissions.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import type { RouteSpec } from '../../src/producer/route.ts'
import { changed, type Path, placesOf, written } from '../support/json-places.ts'
import { withParameters } from '../support/route-table.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

const nameOf = ({ method, path }: RouteSpec): string => `${method.toUpperCase()} ${path}`

/** Routes whose bodies are not ours to close, and why. */
const OPEN: Readonly<Record<string, string>> = {
  'POST /admin/templates': "a definition in WhatsApp's own words, which is kept whole",
  'POST /webhooks/cloud-api': 'WhatsApp may tell more tomorrow, and would repeat for days what is refused',
  'POST /webhooks/cloud-api/:account': 'as without the account',
  'POST /flows/:account/:flow': "WhatsApp's envelope; what is inside is encrypted, and is for the account's own server",
  'POST /campaigns/:id/rows': 'a file, whose columns are what the placeholders of the campaign ask for',
  'POST /contacts/import': 'a file, whose other columns are none of ours',
  'POST /opt-outs/import': 'a file, whose other columns are none of ours',
  'POST /partners/wp-gallery/manage/files/:file_id/restore': 'nothing of its body is read',
  'POST /partners/wp-gallery/manage/files': 'a form, of which gallery-upload.slow asks',
}

/** Objects that are not asked: what a flow is given, where every name is the account's own. */
const NOT_ASKED = /(^|\.)flow_action_payload\.data(\.|$)/

const asked = ROUTES.filter(({ method, body }) => body.as !== 'ignored' || (method !== 'get' && method !== 'delete'))

test('every route with a body is tested, or has a reason to accept any field', () => {
  const open = asked.filter((spec) => spec.body.as !== 'json' || nameOf(spec) === 'POST /admin/templates')
  expect(open.map(nameOf).sort()).toEqual(Object.keys(OPEN).sort())
})

let service: Service
/** An account that refuses all unknown fields, and one that ignores what is no misspelling. */
let strict: Tenant
let lenient: Tenant
const keys = new Map<string, Promise<string>>()
beforeAll(async () => {
  // A move of files waits that long for a worker, and there is none.
  service = await startService({ worker: false, env: { LANEWAY_BULK_MOVE_WAIT_SECONDS: '1' } })
  strict = await service.addTenant()
  lenient = await service.addTenant()
  await setAccountSettings(service.redis, lenient.account, { unknown_fields: 'ignore' })
})
afterAll(() => service?.close())

/** A key with this permission, made once. */
function keyOf(tenant: Tenant, permission: Permission): Promise<string> {
  const name = `${tenant.account} ${permission}`
  const made =
    keys.get(name) ??
    (permission === OPERATOR
      ? createCredential(service.redis, NO_ACCOUNT, [OPERATOR], Date.now()).then(({ secret }) => secret)
      : tenant.key(permission))
  keys.set(name, made)
  return made
}

const faultsSchema = z.array(z.looseObject({ path: z.string(), message: z.string() }))
const errorSchema = z.object({ error: z.looseObject({ details: faultsSchema.default([]) }) })
const listSchema = z.array(errorSchema.partial())
/** By its address, where the answer to several messages has what became of each. */
const resultsSchema = z.union([
  z.object({ results: listSchema }).transform(({ results }) => results),
  z.object({ data: listSchema }).transform(({ data }) => data),
])

/** The faults of a body by their paths. Those of a batch are told with each of its messages. */
async function faultsAt(tenant: Tenant, spec: RouteSpec, body: object): Promise<Record<string, string>> {
  const { access, method, path } = spec
  const key = access.in === 'open' ? undefined : await keyOf(tenant, access.permission)
  const api = service.api.as(access.in === 'bearer' ? key : undefined)
  const answer = await api.request(
    method.toUpperCase(),
    withParameters(path, { ...spec.examples[0]?.params, folder_id: '999999' }),
    access.in === 'api_key' ? { ...body, api_key: key } : body,
    { 'x-requested-with': 'XMLHttpRequest', 'sec-fetch-site': 'same-origin' },
  )
  const results = resultsSchema.safeParse(answer.json).data ?? []
  const inResults = results.flatMap(({ error }, i) =>
    (error?.details ?? []).map((fault) => ({ ...fault, path: `messages[${i}].${fault.path}` })),
  )
  const faults = [...(errorSchema.safeParse(answer.json).data?.error.details ?? []), ...inResults]
  return Object.fromEntries(faults.map(({ path, message }) => [path, message]))
}

/** The name as people misspell it: by turns in another case, without its underscores, and with a letter swapped and one added. */
function misspelling(name: string, turn: number): string {
  const ways = [
    name.toUpperCase(),
    ...(name.includes('_') ? [name.replaceAll('_', '')] : []),
    ...(name.length >= 6 ? [`${name.slice(0, 2)}${name[3]}${name[2]}${name.slice(4)}e`] : []),
  ]
  return ways[turn % ways.length] ?? name
}

/** Every object of the examples, and the names that it is known to have. */
function objectsOf(spec: RouteSpec, schema: z.ZodType): { body: object; at: Path; value: object; names: string[] }[] {
  const known = fieldNamesOf(schema).get('') ?? []
  // A message, or a list of them: no body may have the fields of both.
  const isEither = schema instanceof z.ZodUnion && !(schema instanceof z.ZodDiscriminatedUnion)
  const bodies = spec.examples.flatMap(({ body }) => (body === undefined ? [] : [body]))
  return (bodies.length === 0 ? [{}] : bodies).flatMap((body) =>
    [{ path: [], value: body }, ...placesOf(body)].flatMap(({ path: at, value }: { path: Path; value: unknown }) => {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return []
      if (NOT_ASKED.test(written(at))) return []
      return [{ body, at, value, names: at.length === 0 && !isEither ? [...known] : Object.keys(value) }]
    }),
  )
}

const closed = asked.flatMap((spec) =>
  spec.body.as === 'json' && OPEN[nameOf(spec)] === undefined ? [[nameOf(spec), spec, spec.body] as const] : [],
)

describe.each(closed)('%s', (_name, spec, rule) => {
  const objects = objectsOf(spec, rule.schema)

  test('refuses a misspelt field with the right name, also for an account that ignores unknown fields', async () => {
    const seen = new Set<string>()
    for (const { body, at, value, names } of objects) {
      for (const name of names) {
        const misspelt = misspelling(name, seen.size)
        const place = written([...at, name]).replace(/\d+/g, '')
        if (misspelt === name || seen.has(place)) continue
        seen.add(place)
        const wrong = Object(changed(body, at, { ...value, [misspelt]: Reflect.get(value, name) ?? 'x' }))
        const path = written([...at, misspelt])
        const fault = `unknown field; is "${name}" meant?`
        expect.soft(await faultsAt(lenient, spec, wrong), path).toMatchObject({ [path]: fault })
      }
    }
  })

  test('treats any other unknown field as the account has chosen', async () => {
    const seen = new Set<string>()
    for (const { body, at, value } of objects) {
      const place = written(at).replace(/\d+/g, '')
      if (seen.has(place)) continue
      seen.add(place)
      const path = written([...at, 'zzz_of_nobody'])
      const wrong = Object(changed(body, at, { ...value, zzz_of_nobody: 1 }))
      expect.soft(await faultsAt(strict, spec, wrong), path).toMatchObject({ [path]: 'unknown field' })
      const ofLenient = (await faultsAt(lenient, spec, wrong))[path]
      expect.soft(ofLenient, path).toBe(rule.unknown === 'named' ? undefined : 'unknown field')
    }
  })
})
