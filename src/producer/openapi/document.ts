// The description of the HTTP interface in OpenAPI 3.1, made from the table of routes: exactly what is in the table is in
// the description.
import {
  type CreateDocumentOptions,
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi'
import { DASHBOARD_PATH, FAMILIES, type Family } from '../api/table.ts'
import { errorExamples } from '../error-codes.ts'
import { operationId } from '../operation-id.ts'
import type { RouteSpec } from '../route.ts'
import { operationOf } from './operation.ts'
import { errorAnswer } from './operation-answers.ts'
import { COMPONENTS, createNames, documentedPath, INTRODUCTION } from './shared-parts.ts'
import { eventWebhooks, providerWebhooks } from './webhooks.ts'

/** Makes the document for this version of the service. Takes some 100 ms: the build does it. */
export function createDescription(version: string, families: readonly Family[] = FAMILIES): oas31.OpenAPIObject {
  const names = createNames()
  const paths: ZodOpenApiPathsObject = {}
  for (const { spec, id, tag } of operations(families)) {
    const path = documentedPath(spec.path)
    paths[path] = { ...paths[path], [spec.method]: operationOf(spec, { id, tag, names }) }
  }
  paths[DASHBOARD_PATH] = { get: dashboard }
  return createDocument(
    {
      openapi: '3.1.1',
      info: {
        title: 'Laneway',
        version,
        description: INTRODUCTION,
        license: { name: 'MIT', identifier: 'MIT' },
      },
      servers: [{ url: '/', description: 'The producer that serves this description.' }],
      tags: families.map(({ name, about }) => ({ name, description: about })),
      paths,
      webhooks: { ...providerWebhooks, ...eventWebhooks },
      components: { ...COMPONENTS, examples: examplesOfErrors() },
    },
    { override: readable },
  )
}

/** Without errors of addresses that do not exist, which no operation has. */
function examplesOfErrors() {
  const { no_such_route: _none, method_not_allowed: _other, invalid_http: _noHttp, ...examples } = errorExamples()
  return examples
}

interface Operation {
  spec: RouteSpec
  id: string
  tag: string
}

/** Every route with the names of its operation and its family. */
export const operations = (families: readonly Family[] = FAMILIES): Operation[] =>
  families.flatMap(({ id: family, name: tag, routes }) =>
    Object.entries(routes).map(([name, spec]) => ({ spec, id: operationId(family, name), tag })),
  )

/** The dashboard is an application of its own, and no route. */
const dashboard: ZodOpenApiOperationObject = {
  operationId: 'dashboardShow',
  tags: ['Administration'],
  summary: 'Shows the queues in a browser, read-only.',
  description:
    'Only for a session of the console whose key has the permission `operator`; a key itself opens nothing here.',
  security: [{ session: ['operator'] }],
  'x-laneway-permission': 'operator',
  responses: {
    200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
    401: errorAnswer(401, new Set(['unauthorized'])),
    403: errorAnswer(403, new Set(['forbidden'])),
    501: errorAnswer(501, new Set(['not_installed'])),
  },
}

/** Removes clutter of zod's output: patterns of 300 characters, bounds that every number has. */
const readable: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, io }) => {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (jsonSchema.type === 'integer') {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    jsonSchema.format = 'int64'
  }
  // A later version may add fields to answers, and a client must not break on them.
  if (io === 'output') delete jsonSchema.additionalProperties
  if (Array.isArray(jsonSchema.prefixItems) && jsonSchema.prefixItems.length === 0) {
    delete jsonSchema.prefixItems
    jsonSchema.maxItems = 0
  }
}
