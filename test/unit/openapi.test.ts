// Pins: the description has every route with all that it may answer, and names its operations and schemas so that what is
// generated from it stays what it is.
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ROUTES } from '../../src/producer/api/table.ts'
import { createDescription, operations } from '../../src/producer/openapi/document.ts'
import { documentedErrors } from '../../src/producer/openapi/operation-answers.ts'
import { documentedPath } from '../../src/producer/openapi/shared-parts.ts'

const document = createDescription('1.2.3')
const text = JSON.stringify(document)
const operationSchema = z.object({
  operationId: z.string(),
  parameters: z.array(z.object({ in: z.string(), name: z.string() }).or(z.object({ $ref: z.string() }))),
  responses: z.record(z.string(), z.unknown()),
  security: z.array(z.record(z.string(), z.array(z.string()))),
})
const operationOf = (method: string, path: string) =>
  operationSchema.parse(Reflect.get(Object(document.paths?.[documentedPath(path)]), method))

test('the description has exactly the routes of the table, each with exactly its possible statuses', () => {
  const described = Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method} ${path}`),
  )
  const served = ROUTES.map(({ method, path }) => `${method} ${documentedPath(path)}`)
  expect(described.sort()).toEqual([...served, 'get /dashboard'].sort())
  for (const spec of ROUTES) {
    const { responses } = operationOf(spec.method, spec.path)
    const statuses = [...Object.keys(spec.answers).map(Number), ...documentedErrors(spec).keys()]
    expect(Object.keys(responses).map(Number).sort(), spec.path).toEqual(statuses.sort())
  }
})

test('every operation has its credential and its permission', () => {
  for (const { method, path, access } of ROUTES) {
    const { security } = operationOf(method, path)
    const permissions = access.in === 'bearer' ? [access.permission, ...(access.also ?? [])] : []
    expect(security, path).toEqual(permissions.map((name) => ({ bearer: [name] })))
  }
  expect(document.components?.schemas?.ImageMessageRequest).toMatchObject({
    required: expect.arrayContaining(['api_key']),
    properties: { api_key: { type: 'string', writeOnly: true } },
  })
  expect(document.components?.schemas?.ImageMessage).not.toHaveProperty('properties.api_key')
})

test('every parameter of a path, a query and a header in the table is described', () => {
  for (const { method, path, params, query, headers } of ROUTES) {
    const named = operationOf(method, path).parameters.flatMap((each) => ('name' in each ? each.name : []))
    const expected = [params, query, headers].flatMap((each) => Object.keys(each?.shape ?? {}))
    expect(named, path).toEqual(expected)
  }
})

test('the description has the limits of the interface: lengths, counts, bytes', () => {
  const schemas = JSON.stringify(document.components?.schemas)
  expect(schemas).toContain('"maxLength":1024')
  expect(document.components?.schemas?.GalleryFilesMoveRequest).toMatchObject({
    properties: { file_ids: { type: 'array', minItems: 1, maxItems: 1_000, items: { type: 'integer', minimum: 1 } } },
  })
  expect(text).toContain('JSON of at most 4 MB')
})

test('operations have the names that generated clients use', () => {
  expect(
    operations()
      .map(({ id }) => id)
      .sort(),
  ).toMatchSnapshot()
})

test('schemas have the names that generated clients use, and none lacks one', () => {
  const names = Object.keys(document.components?.schemas ?? {})
  expect(names.sort()).toMatchSnapshot()
  expect(names.filter((name) => name.startsWith('__'))).toEqual([])
})

test('nothing in the description is secret or specific to this machine', () => {
  expect(text).not.toMatch(/127\.0\.0\.1(?!:3000)|\/home\/|\/work\/|redis:\/\//)
})
