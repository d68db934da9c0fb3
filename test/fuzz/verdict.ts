// Whether an answer is one that the description allows to this request.
import { z } from 'zod'
import { EDGE_ERRORS } from '../../src/producer/error-codes.ts'
import { faultOfAnswer, faultOfHead } from '../support/answer-check.ts'
import type { Description, Json, Operation } from './description.ts'
import type { FuzzRequest } from './requests.ts'

export interface Answer {
  status: number
  headers: Readonly<Record<string, string | string[] | undefined>>
  text: string
}

const edge = new Map(Object.entries(EDGE_ERRORS).map(([status, codes]) => [Number(status), codes]))
const errorSchema = z.object({ error: z.object({ code: z.string(), request_id: z.string() }) })

/** Judges answers to requests; undefined for one that is as it must be, else what is wrong with it. */
export function createJudge(description: Description) {
  const schemas = new Map<Json, z.ZodType>()

  function schemaOf(schema: Json): z.ZodType {
    const known = schemas.get(schema)
    if (known) return known
    const text = asZodReads(schema)
    const definitions = [...namedIn(text)].map(([name, definition]) => [name, JSON.parse(definition)])
    const made = z.fromJSONSchema({ ...JSON.parse(text), $defs: Object.fromEntries(definitions) })
    schemas.set(schema, made)
    return made
  }

  /** What a schema refers to, by its name: the whole description for each schema would be most of a run. */
  function namedIn(text: string, found = new Map<string, string>()): Map<string, string> {
    for (const [, name = ''] of text.matchAll(/"#\/\$defs\/([^"]+)"/g)) {
      const schema = description.schemas[name]
      if (schema === undefined || found.has(name)) continue
      const definition = asZodReads(schema)
      namedIn(definition, found.set(name, definition))
    }
    return found
  }

  return (request: FuzzRequest, path: string, answer: Answer): string | undefined => {
    const { status, text } = answer
    const { operation, method } = request
    if (status >= 500) return `${status}: a fault of ours`
    const refused = mustBeRefused(request)
    if (refused !== undefined && status < 400) return `${status}, though ${refused}`
    const type = String(answer.headers['content-type'] ?? '')
    const asked = { method, path: path.split('?')[0] ?? '', status, type }
    const head = faultOfHead(asked)
    if (head !== undefined) return head
    if (method === 'HEAD' || operation.key === 'basic') return undefined
    const body = faultOfAnswer(asked, text)
    if (body !== undefined) return body
    return method === operation.method ? faultBySchema(operation, answer, type) : undefined
  }

  function faultBySchema(operation: Operation, { status, text, headers }: Answer, type: string): string | undefined {
    const json: unknown = type.startsWith('application/json') ? JSON.parse(text) : undefined
    const error = errorSchema.safeParse(json).data?.error
    const documented = operation.answers.get(status)
    if (error) {
      if (error.request_id !== headers['x-request-id']) return `${status}: another request id in the body`
      const isEdges = edge.get(status)?.some((code) => code === error.code) ?? false
      if (!isEdges && !documented?.codes?.includes(error.code))
        return `${status}: the code ${error.code} is not described`
      if (isEdges && documented === undefined) return undefined
    }
    if (documented === undefined) return `${status} is not described`
    if (documented.schema === undefined) return undefined
    const parsed = schemaOf(documented.schema).safeParse(json)
    return parsed.success ? undefined : `${status}: the body is not as described: ${z.prettifyError(parsed.error)}`
  }
}

/** Zod looks for what is referred to under another name. */
const asZodReads = (schema: Json): string =>
  JSON.stringify(schema, (key, value) => (key === 'format' || key === 'discriminator' ? undefined : value)).replaceAll(
    '#/components/schemas/',
    '#/$defs/',
  )

/** Why no answer to the request may be a success. */
function mustBeRefused({ operation, method, credential, params }: FuzzRequest): string | undefined {
  if (operation.permission === undefined || method !== operation.method || credential === 'right') return undefined
  if (credential !== 'other') return `its credential is: ${credential}`
  return Object.values(params).includes('KNOWN') ? "it names what is another account's" : undefined
}
