// Pins: the table of routes says enough of each route, is true to itself, and can be read without loading the service.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { faultsOf } from '../../src/kernel/zod-faults.ts'
import { OPERATOR, PERMISSIONS } from '../../src/model/accounts/permissions.ts'
import { changesOf } from '../../src/producer/api/fields.ts'
import { ROUTES } from '../../src/producer/api/table.ts'
import { ApiError, errorBody } from '../../src/producer/errors.ts'
import { shownAnswer } from '../../src/producer/openapi/sample.ts'
import type { RouteSpec } from '../../src/producer/route.ts'
import { type Asked, faultOfAnswer, faultOfHead } from '../support/answer-check.ts'
import { changed, placesOf } from '../support/json-places.ts'

const nameOf = ({ method, path }: RouteSpec): string => `${method.toUpperCase()} ${path}`
const parametersOf = (path: string): string[] => Array.from(path.matchAll(/:(\w+)/g), ([, name = '']) => name)
const jsonSchemaOf = (spec: RouteSpec, status: number): z.ZodType | undefined => {
  const answer = spec.answers[status]
  return answer instanceof z.ZodType ? answer : answer?.schema
}

test('no two routes have the same address', () => {
  const addresses = ROUTES.flatMap((spec) =>
    [spec.path, spec.alsoAt].flatMap((path) => (path === undefined ? [] : [`${spec.method} ${path}`])),
  )
  expect(new Set(addresses).size).toBe(addresses.length)
})

test('reading the table loads neither Redis nor Express nor a queue', () => {
  const packages = new Set<string>()
  const seen = new Set<string>()
  const visit = (file: string): void => {
    if (seen.has(file)) return
    seen.add(file)
    // Types are not there when it runs.
    const lines = readFileSync(file, 'utf8').matchAll(/^(?:import|export)(?! type)\b[^'"]*? from '([^']+)'/gm)
    for (const [, name = ''] of lines) {
      if (name.startsWith('.')) visit(join(dirname(file), name))
      else packages.add(name)
    }
  }
  visit('src/producer/api/table.ts')
  expect(seen.size).toBeGreaterThan(20)
  expect(existsSync('src/producer/api/table.ts')).toBe(true)
  expect([...packages].filter((name) => !/^(zod|libphonenumber-js(\/\w+)?|node:crypto|node:net)$/.test(name))).toEqual(
    [],
  )
})

/** Objects that hold whatever WhatsApp says, by their names; what is in them is not ours to close. */
const OPEN = ['pricing']

describe.each(ROUTES.map((spec) => [nameOf(spec), spec] as const))('%s', (_name, spec) => {
  test('has a summary of one sentence, and an existing permission', () => {
    expect(spec.summary).toMatch(/^[A-Z][^\n]{8,118}[^.]\.$/)
    if (spec.access.in === 'open') expect(spec.access.why).not.toBe('')
    else expect([...PERMISSIONS, OPERATOR]).toContain(spec.access.permission)
  })

  test('has a name in the activity, if it changes something that a person answers for', () => {
    // Traffic of applications, which would push all else out of the activity; and what changes nothing.
    const isTraffic =
      /^\/(sendservicemessages|chatappbusiness|messages\/batch|messages\/:id\/read|flows|partners|api\/betav3|webhooks)/.test(
        spec.path,
      )
    if (spec.method === 'get' || isTraffic) expect(spec.act).toBeUndefined()
    else expect(spec.act).toMatch(/^[a-z]+\.[a-z_]+$/)
  })

  test('leaves the name of an account in a query to operators', () => {
    if (spec.access.in !== 'open') expect(Object.keys(spec.query?.shape ?? {})).not.toContain('account')
  })

  test('has a schema for exactly the parameters of its path', () => {
    expect(Object.keys(spec.params?.shape ?? {})).toEqual(parametersOf(spec.path))
  })

  test('has examples that its schemas accept, for every status in JSON', () => {
    for (const example of spec.examples) {
      const { params, query, headers, body, status } = example
      const answer = shownAnswer(spec, example)
      if (params !== undefined) expect(spec.params?.safeParse(params).error).toBeUndefined()
      if (query !== undefined) expect(spec.query?.safeParse(query).error).toBeUndefined()
      if (headers !== undefined && spec.headers) expect(spec.headers.safeParse(headers).error).toBeUndefined()
      if (body !== undefined && 'schema' in spec.body) expect(spec.body.schema.safeParse(body).error).toBeUndefined()
      expect(Object.keys(spec.answers)).toContain(String(status))
      if (answer !== undefined) expect(jsonSchemaOf(spec, status)?.safeParse(answer).error).toBeUndefined()
    }
    const shown = new Set(spec.examples.map(({ status }) => String(status)))
    const inJson = Object.keys(spec.answers).filter((status) => jsonSchemaOf(spec, Number(status)))
    expect(inJson.filter((status) => !shown.has(status))).toEqual([])
    expect(spec.examples.length).toBeGreaterThan(0)
  })

  test('returns nothing beyond its schemas: not one more field, at any depth, except where they are open', () => {
    for (const example of spec.examples) {
      const { status } = example
      const answer = shownAnswer(spec, example)
      const schema = jsonSchemaOf(spec, status)
      if (schema === undefined || answer === undefined) continue
      const objects = [{ path: [], value: answer }, ...placesOf(answer)].filter(
        ({ path, value }) =>
          typeof value === 'object' &&
          value !== null &&
          !Array.isArray(value) &&
          // Words of WhatsApp, whatever they are called: what it says of a price is kept whole.
          !['components', 'details', 'pricing'].some((open) => path.includes(open as never)),
      )
      expect(objects.length).toBeGreaterThan(0)
      for (const { path, value } of objects) {
        const more = changed(answer, path, { ...Object(value), unexpected: 1 })
        expect(schema.safeParse(more).success, path.join('.')).toBe(OPEN.includes(String(path.at(-1))))
      }
    }
  })
})

/** What is told of the body `given` by the schema of a route. */
const faultsIn = (schema: z.ZodType, given: object) => {
  const read = schema.safeParse(given)
  return read.success ? [] : faultsOf(read.error, given)
}

test.each(ROUTES.flatMap((route) => (route.body.as === 'json' ? [{ ...route, schema: route.body.schema }] : [])))(
  'an unknown field is reported by its name alone, or in a sentence of what $method $path accepts',
  ({ schema }) => {
    const faults = faultsIn(schema, { 'no such field': 1 })
    const ofBody = faults.filter(({ path }) => path === '')
    if (faults.some(({ message }) => message === 'unknown field')) expect(ofBody).toEqual([])
    expect(faults.map(({ message }) => message)).not.toContain('Invalid input')
  },
)

test('an empty change is one fault, of the whole body', () => {
  const schema = changesOf({ name: z.string() })
  expect(faultsIn(schema, {})).toEqual([{ path: '', message: 'expected at least one change' }])
  expect(faultsIn(schema, { nmae: 'x' })).toEqual([{ path: 'nmae', message: 'unknown field' }])
  expect(faultsIn(schema, { name: 'x' })).toEqual([])
})

describe('an answer to a test is refused when', () => {
  const asked = (path: string, status: number, method = 'GET'): Asked => ({
    ...{ method, path, status },
    type: 'application/json; charset=utf-8',
  })
  const error = (code: string): string => JSON.stringify(errorBody(new ApiError(404, code, 'A sentence.'), 'id'))

  test('its address or its status is not in the table', () => {
    expect(faultOfHead(asked('/nowhere', 200))).toContain('/nowhere')
    expect(faultOfHead(asked('/healthz', 201))).toContain('201')
    expect(faultOfHead(asked('/healthz', 409))).toContain('409')
    expect(faultOfHead({ ...asked('/healthz', 200), type: 'text/html' })).toContain('text/html')
    expect(faultOfHead(asked('/healthz', 200))).toBeUndefined()
    expect(faultOfHead(asked('/nowhere', 404))).toBeUndefined()
    expect(faultOfHead(asked('/dashboard/x', 200))).toBeUndefined()
  })

  test('its code is not one of the route', () => {
    expect(faultOfAnswer(asked('/jobs/x', 404), error('not_found'))).toBeUndefined()
    expect(faultOfAnswer(asked('/healthz', 404), error('not_found'))).toContain('not_found')
    expect(faultOfAnswer(asked('/jobs/x', 404), '{}')).toContain('no error')
  })

  test('its body has another shape', () => {
    expect(faultOfAnswer(asked('/healthz', 200), '{"status":true,"message":"alive"}')).toBeUndefined()
    expect(faultOfAnswer(asked('/healthz', 200), '{"status":true,"message":"alive","x":1}')).toContain('x')
    expect(faultOfAnswer(asked('/healthz', 200), 'alive')).toContain('another body')
  })
})
