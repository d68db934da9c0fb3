// The description of the interface as the fuzzer reads it: from the producer that it attacks, as any client would.
import { z } from 'zod'

export type Json = Readonly<Record<string, unknown>>

const parameterSchema = z.object({
  in: z.enum(['path', 'query', 'header']),
  name: z.string(),
  required: z.boolean().default(false),
  schema: z.record(z.string(), z.unknown()).default({}),
})
const mediaSchema = z.object({
  schema: z.record(z.string(), z.unknown()).optional(),
  example: z.unknown().optional(),
  examples: z.record(z.string(), z.object({ value: z.unknown().optional() })).optional(),
})
const operationSchema = z.object({
  operationId: z.string(),
  parameters: z.array(z.union([parameterSchema, z.object({ $ref: z.string() })])).default([]),
  requestBody: z.object({ content: z.record(z.string(), mediaSchema) }).optional(),
  responses: z.record(z.string(), z.record(z.string(), z.unknown())),
  'x-laneway-permission': z.string().optional(),
  security: z.array(z.record(z.string(), z.array(z.string()))).default([]),
})
const documentSchema = z.object({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.record(z.string(), z.record(z.string(), z.record(z.string(), z.unknown()))),
})

export interface Operation {
  id: string
  method: string
  path: string
  permission: string | undefined
  /** Those of which one is enough, `permission` among them; none when everybody may. */
  permissions: readonly string[]
  /** Where its key travels. */
  key: 'bearer' | 'basic' | 'api_key' | 'none'
  parameters: z.infer<typeof parameterSchema>[]
  body: Record<string, { schema: Json | undefined; examples: unknown[] }>
  /** Status → the codes that an error may have, and the schema of its JSON. */
  answers: ReadonlyMap<number, { codes: readonly string[] | undefined; schema: Json | undefined }>
}

export interface Description {
  operations: Operation[]
  resolve: (schema: Json) => Json
  /** Every schema by its name. */
  schemas: Readonly<Record<string, Json>>
}

/** Reads the description of the producer at `url`. */
export async function readDescription(url: string): Promise<Description> {
  const document = documentSchema.parse(await (await fetch(`${url}/openapi.json`)).json())
  const resolve = (value: Json): Json => {
    if (typeof value.$ref !== 'string') return value
    const [kind = '', name = ''] = value.$ref.split('/').slice(2)
    const found = document.components[kind]?.[name]
    if (found === undefined) throw new Error(`${value.$ref} is not in the description`)
    return found
  }
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]) => readOperation(path, method, operation, resolve)),
  )
  return { operations, resolve, schemas: document.components.schemas ?? {} }
}

function readOperation(
  path: string,
  method: string,
  operation: z.infer<typeof operationSchema>,
  resolve: (value: Json) => Json,
): Operation {
  const permission = operation['x-laneway-permission']
  const others = operation.security.flatMap(({ bearer = [] }) => bearer)
  const scheme = Object.keys(operation.security[0] ?? {})[0]
  const answers = Object.entries(operation.responses).map(([status, response]) => {
    const { 'x-laneway-codes': codes, content } = answerSchema.parse(resolve(response))
    return [Number(status), { codes, schema: content['application/json']?.schema }] as const
  })
  const body = Object.entries(operation.requestBody?.content ?? {}).map(([type, media]) => {
    const examples = Object.values(media.examples ?? {}).map(({ value }) => value)
    return [type, { schema: media.schema, examples: media.example === undefined ? examples : [media.example] }] as const
  })
  return {
    id: operation.operationId,
    method: method.toUpperCase(),
    path,
    permission,
    permissions: permission === undefined ? [] : [...new Set([permission, ...others])],
    key: scheme === 'bearer' || scheme === 'basic' ? scheme : permission === undefined ? 'none' : 'api_key',
    parameters: operation.parameters.map((each) => parameterSchema.parse(resolve(each))),
    body: Object.fromEntries(body),
    answers: new Map(answers),
  }
}

const answerSchema = z.object({
  'x-laneway-codes': z.array(z.string()).optional(),
  content: z.record(z.string(), mediaSchema).default({}),
})
