// The description of everything that the service answers over HTTP, in OpenAPI 3.1, made from the table of routes: what
// is not in the table is not in it, and what is cannot be left out.
import {
  type CreateDocumentOptions,
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiPathsObject,
} from 'zod-openapi'
import { FAMILIES } from '../api/table.ts'
import { DASHBOARD_PATH } from '../dashboard-path.ts'
import type { RouteSpec } from '../route.ts'
import { errorExamples } from './error-examples.ts'
import { eventWebhooks } from './event-webhooks.ts'
import { FAMILY_NOTES } from './families.ts'
import { createNames } from './named-schemas.ts'
import { operationOf } from './operation.ts'
import { errorAnswer } from './operation-answers.ts'
import { documentedPath, operationId } from './operation-names.ts'
import { providerWebhooks } from './provider-webhooks.ts'
import { COMPONENTS, INTRODUCTION } from './shared-parts.ts'

/** Makes the document for this version of the service. Takes some 100 ms: the build does it. */
export function createDescription(version: string): oas31.OpenAPIObject {
  const names = createNames()
  const paths: ZodOpenApiPathsObject = {}
  for (const { spec, id, tag } of operations()) {
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
      tags: Object.values(FAMILY_NOTES).map(({ name, description }) => ({ name, description })),
      paths,
      webhooks: { ...providerWebhooks, ...eventWebhooks },
      components: { ...COMPONENTS, examples: examplesOfErrors() },
    },
    { override: readable },
  )
}

/** Of the errors that an operation may answer: an address that is none is no operation's. */
function examplesOfErrors() {
  const { no_such_route: _none, method_not_allowed: _other, invalid_http: _noHttp, ...examples } = errorExamples()
  return examples
}

interface Operation {
  spec: RouteSpec
  id: string
  tag: string
}

/** Every route with the name of its operation and of its family, family by family as they are described. */
export function operations(): Operation[] {
  const families: Readonly<Record<string, Readonly<Record<string, RouteSpec>>>> = FAMILIES
  return Object.entries(FAMILY_NOTES).flatMap(([family, { name: tag }]) =>
    Object.entries(families[family] ?? {}).map(([name, spec]) => ({ spec, id: operationId(family, name), tag })),
  )
}

/** An application of its own, and no route. */
const dashboard: ZodOpenApiOperationObject = {
  operationId: 'dashboardShow',
  tags: [FAMILY_NOTES.admin.name],
  summary: 'Shows the queues in a browser, read-only.',
  description:
    'Only for a session of the console whose key has the permission `operator`; a key itself opens nothing here.',
  security: [{ session: ['operator'] }],
  'x-laneway-permission': 'operator',
  responses: {
    200: { description: 'The page.', content: { 'text/html': { schema: { type: 'string' } } } },
    401: errorAnswer(401, new Set(['unauthorized'])),
    403: errorAnswer(403, new Set(['forbidden'])),
  },
}

/** What zod says of its types and no reader wants: patterns of 300 characters, bounds that every number has. */
const readable: NonNullable<CreateDocumentOptions['override']> = ({ jsonSchema, io }) => {
  if (jsonSchema.format === 'date-time') delete jsonSchema.pattern
  if (jsonSchema.type === 'integer') {
    if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
    if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    jsonSchema.format = 'int64'
  }
  // Answers may get more fields in a later version, and a client must not break on them.
  if (io === 'output') delete jsonSchema.additionalProperties
  if (Array.isArray(jsonSchema.prefixItems) && jsonSchema.prefixItems.length === 0) {
    delete jsonSchema.prefixItems
    jsonSchema.maxItems = 0
  }
}
