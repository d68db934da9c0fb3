// A route as an operation of the description.
import { z } from 'zod'
import type { ZodOpenApiMediaTypeObject, ZodOpenApiOperationObject, ZodOpenApiRequestBodyObject } from 'zod-openapi'
import { JSON_LIMIT_BYTES, LARGE_VALUES_MAX, VALUES_MAX } from '../../kernel/body-limits.ts'
import type { Access, BodyRule, Example, RouteSpec } from '../route.ts'
import { answersOf } from './operation-answers.ts'
import { exampleName, KEY_EXAMPLE, pascal, type SchemaNames } from './shared-parts.ts'

/** A route as an operation. Schemas are named by `names`. */
export function operationOf(
  spec: RouteSpec,
  { id, tag, names }: { id: string; tag: string; names: SchemaNames },
): ZodOpenApiOperationObject {
  const { access } = spec
  const body = bodyOf(spec, id, names)
  const permission = access.in === 'open' ? undefined : access.permission
  return {
    operationId: id,
    tags: [tag],
    summary: spec.summary,
    description: [spec.details, keySentence(access)].filter((part) => part !== undefined).join(' '),
    security:
      access.in === 'bearer' ? [access.permission, ...(access.also ?? [])].map((name) => ({ bearer: [name] })) : [],
    ...(permission !== undefined && { 'x-laneway-permission': permission }),
    requestParams: paramsOf(spec),
    parameters: [...(access.in === 'open' ? [] : [shared('Account')]), shared('RequestId')],
    ...(body && { requestBody: body }),
    responses: answersOf(spec, id, names),
  }
}

function keySentence(access: Access): string {
  if (access.in === 'open') return `Takes no key: it ${access.why}.`
  const where = access.in === 'bearer' ? 'as Bearer' : 'as `api_key` in the body'
  const others = 'also' in access ? (access.also ?? []) : []
  const permissions = [access.permission, ...others].map((name) => `\`${name}\``).join(' or ')
  return `Needs a key with the permission ${permissions}, ${where}.`
}

const shared = (name: string) => ({ $ref: `#/components/parameters/${name}` })

/** Parameters of the path, the query and the headers, each with the value that the first example with it has. */
function paramsOf({
  params,
  query,
  headers,
  examples,
}: RouteSpec): NonNullable<ZodOpenApiOperationObject['requestParams']> {
  const shown = (schema: z.ZodObject, values: readonly (Readonly<Record<string, string>> | undefined)[]) =>
    z.object(
      Object.fromEntries(
        Object.entries<z.ZodType>(schema.shape).map(([name, field]) => {
          const value = values.find((each) => each?.[name] !== undefined)?.[name]
          return [name, value === undefined ? field : field.meta({ param: { example: shownAs(value, field) } })]
        }),
      ),
    )
  return {
    ...(params && {
      path: shown(
        params,
        examples.map((each) => each.params),
      ),
    }),
    ...(query && {
      query: shown(
        query,
        examples.map((each) => each.query),
      ),
    }),
    ...(headers && {
      header: shown(
        headers,
        examples.map((each) => each.headers),
      ),
    }),
  }
}

/** Numbers in a path or a query are text on the way and numbers in the description. */
function shownAs(value: string, schema: z.ZodType): string | number {
  const { data } = schema.safeParse(value)
  // A time is read as a number too, and stays a text here.
  return String(data) === value && typeof data === 'number' ? data : value
}

function bodyOf(spec: RouteSpec, id: string, names: SchemaNames): ZodOpenApiRequestBodyObject | undefined {
  const { body } = spec
  if (body.as === 'ignored') return undefined
  const name = `${pascal(id)}Request`
  if (body.as === 'stream') {
    const content = body.contentTypes.map((type) => [type, streamed(body, type, spec.examples)])
    return { required: true, description: sizeOf(body), content: Object.fromEntries(content) }
  }
  const isKeyed = spec.access.in === 'api_key'
  const schema = isKeyed ? withKey(body.schema, name) : names.of(body.schema, name)
  const shown = spec.examples.filter((each) => each.body !== undefined)
  return {
    required: !(body.as === 'json' && body.mayBeAbsent),
    description: sizeOf(body),
    content: {
      'application/json': {
        schema,
        examples: Object.fromEntries(
          shown.map((each, index) => [
            exampleName(each, index),
            {
              ...(each.name !== undefined && { summary: each.name }),
              value: isKeyed ? { api_key: KEY_EXAMPLE, ...each.body } : each.body,
            },
          ]),
        ),
      },
    },
  }
}

function streamed(
  { schema, contentTypes }: Extract<BodyRule, { as: 'stream' }>,
  type: string,
  examples: readonly Example[],
): ZodOpenApiMediaTypeObject {
  const text = examples.find((each) => (each.headers?.['Content-Type'] ?? contentTypes[0]) === type)?.text
  return { ...(schema && { schema }), ...(text !== undefined && { example: text }) }
}

function sizeOf(body: Exclude<BodyRule, { as: 'ignored' }>): string {
  const limit = body.limit ?? JSON_LIMIT_BYTES
  if (body.as === 'stream') {
    const setting = body.setting === undefined ? '' : `, unless the setting ${body.setting} gives another limit`
    return `At most ${bytes(limit)}${setting}; streamed.`
  }
  const values = limit > JSON_LIMIT_BYTES ? LARGE_VALUES_MAX : VALUES_MAX
  return `JSON of at most ${bytes(limit)}, 32 levels and ${values.toLocaleString('en')} values, not compressed.`
}

function bytes(count: number): string {
  const [unit, name] = [[1024 ** 3, 'GB'] as const, [1024 ** 2, 'MB'] as const, [1024, 'KB'] as const].find(
    ([size]) => count >= size,
  ) ?? [1, 'bytes']
  return `${count / unit} ${name}`
}

const keySchema = z.string().meta({
  format: 'password',
  writeOnly: true,
  description: 'The key. It is checked before anything else and never stored.',
})

/** A body with `api_key` beside its fields, named after the request; of a union each of its kinds. */
function withKey(schema: z.ZodType, otherwise: string): z.ZodType {
  const own = z.globalRegistry.get(schema)?.id
  const id = own === undefined ? otherwise : `${own}Request`
  if (schema instanceof z.ZodDiscriminatedUnion) {
    const kinds = schema.options.map((kind) => (kind instanceof z.ZodObject ? withKey(kind, otherwise) : kind))
    const [first, ...others] = kinds.filter((kind) => kind instanceof z.ZodObject)
    if (first === undefined) throw new Error(`${id} has no kinds`)
    return z.discriminatedUnion(schema.def.discriminator, [first, ...others]).meta({ id })
  }
  if (!(schema instanceof z.ZodObject)) throw new Error(`${id} is no object that could have an api_key`)
  return z.object({ api_key: keySchema, ...schema.shape }).meta({ id })
}
