// What all operations of the description share: introduction, credentials, headers; and the names, which generators make
// types and functions of.

import { z } from 'zod'
import type { ZodOpenApiComponentsObject } from 'zod-openapi'
import type { Example } from '../route.ts'

/** The form of a key; nobody has this one. */
export const KEY_EXAMPLE = 'lw_00000000000000000000000000000000000000'

export const INTRODUCTION = `
Laneway takes messages for WhatsApp, sends each at the pace of its sender, and reports what became of it.

**Credentials.** There is one kind of key, with permissions and, if wanted, an expiry. Where it travels differs: as
\`api_key\` in the body where an operation has that field, else as \`Authorization: Bearer <key>\`. The permission that an
operation needs is in its security requirement and in \`x-laneway-permission\`. A key that is missing, unknown, expired or
revoked gives 401, a good one without the permission 403.

**Bodies** are JSON objects in UTF-8, not compressed, unless an operation says otherwise. Lengths are UTF-16 code units:
an emoji counts as two or more. Unknown fields are refused with 400. Older addresses ignore those that are no misspellings
where the account has \`unknown_fields\` \`ignore\`, and name them in \`x-laneway-ignored\`.

**Idempotency.** Operations that take the header \`Idempotency-Key\` do a request once for each key: the repeat gets the
same answer for at least 8 days. The same key with another body is 422 \`idempotency_key_reused\`.

**Errors** all have one shape. \`message\` is for a person, \`error.code\` for a program; codes that an answer may have are
listed with it and in \`x-laneway-codes\`. More codes and more fields of answers may come in later versions.

**Order of checks.** Address (404), method (405), body readable (415, 413, 400), key (401), permission (403), fields
(400, 422), existence (404), system folder (403). The first that fails is the answer. Of a body that may be larger than
256 KB, only kind and announced length come before the key; of files and rows, nothing does.
`.trim()

export const COMPONENTS: ZodOpenApiComponentsObject = {
  securitySchemes: {
    bearer: { type: 'http', scheme: 'bearer', description: `A key, such as \`${KEY_EXAMPLE}\`.` },
    session: { type: 'apiKey', in: 'cookie', name: 'laneway_session', description: 'A session of the console.' },
  },
  parameters: {
    Account: {
      in: 'header',
      name: 'x-laneway-account',
      description:
        'The account that a key with the permission `operator` acts for; it may be `?account=` in the address instead. ' +
        'Every other key has an account of its own.',
      schema: { type: 'integer', minimum: 1 },
      example: 1,
    },
    RequestId: {
      in: 'header',
      name: 'x-request-id',
      description: 'Up to 128 letters, digits and `_ . : -`: the answer and the log carry it. Otherwise one is made.',
      schema: { type: 'string' },
      example: 'order-77-attempt-1',
    },
  },
  headers: {
    RequestId: {
      description: 'Names the request, in the answer and in the log.',
      required: true,
      schema: { type: 'string' },
    },
    Ignored: {
      description: 'Fields of the body that are not known and were ignored: `image.width, note`.',
      schema: { type: 'string' },
    },
    RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 0 } },
    RateLimitPolicy: {
      description:
        'The request limits that apply, in every answer where there is one: `"key";q=50;w=1` is 50 requests a second. ' +
        'By draft-ietf-httpapi-ratelimit-headers.',
      schema: { type: 'string' },
    },
    RateLimit: {
      description: 'Requests left at once, and seconds until there are more: `"key";r=12;t=1`.',
      schema: { type: 'string' },
    },
    WwwAuthenticate: { description: 'The required scheme.', schema: { type: 'string' } },
  },
}

/** With its first letter large. */
export const pascal = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** `/jobs/:id` → `/jobs/{id}` */
export const documentedPath = (path: string): string => path.replaceAll(/:(\w+)/g, '{$1}')

/** `a list` → `aList`; of one without a name its index among all, from 0 → `example1`. */
export function exampleName({ name }: Pick<Example, 'name'>, index: number): string {
  if (name === undefined) return `example${index + 1}`
  const [first = '', ...others] = name.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return first + others.map(pascal).join('')
}

export type SchemaNames = ReturnType<typeof createNames>

/** Names schemas: one with an `id` keeps it, another gets that of the first operation that it is for. */
export function createNames() {
  const named = new Map<z.ZodType, z.ZodType>()
  return {
    of(schema: z.ZodType, otherwise: string): z.ZodType {
      const known = named.get(schema)
      if (known) return known
      const result = z.globalRegistry.get(schema)?.id === undefined ? schema.meta({ id: otherwise }) : schema
      named.set(schema, result)
      return result
    },
  }
}
