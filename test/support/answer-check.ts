// Holds an answer against the table of routes: its status, its content type, its code where it is an error, and its body.
import { z } from 'zod'
import { CONSOLE_PATH, DASHBOARD_PATH, ROUTES } from '../../src/producer/api/table.ts'
import { EDGE_ERRORS } from '../../src/producer/error-codes.ts'
import { errorBodySchema } from '../../src/producer/errors.ts'
import { errorsOf } from '../../src/producer/openapi/operation-answers.ts'
import type { RouteSpec } from '../../src/producer/route.ts'
import { noteSeen } from './seen-answers.ts'

export interface Asked {
  method: string
  path: string
  status: number
  /** The header Content-Type. */
  type: string
}

const patterns = ROUTES.flatMap((spec) =>
  [spec.path, ...(spec.alsoAt === undefined ? [] : [spec.alsoAt])].map((path) => ({
    spec,
    method: spec.method.toUpperCase(),
    pattern: new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`),
  })),
)

/** The route of a request, as Express would find it. */
function routeOf({ method, path }: Pick<Asked, 'method' | 'path'>): RouteSpec | undefined {
  const asked = method === 'HEAD' ? 'GET' : method
  const first = patterns.find(({ pattern }) => pattern.test(path))
  return patterns.find((each) => each.method === asked && each.pattern.source === first?.pattern.source)?.spec
}

/** What is no route of the table: the raw queues, and the pages of the console. */
const isOfPages = ({ path }: Asked): boolean =>
  path === DASHBOARD_PATH ||
  path.startsWith(`${DASHBOARD_PATH}/`) ||
  path === '/' ||
  ((path === CONSOLE_PATH || path.startsWith(`${CONSOLE_PATH}/`)) && !routeOf({ method: 'GET', path }))

const edge = new Map(Object.entries(EDGE_ERRORS).map(([status, codes]) => [Number(status), new Set<string>(codes)]))

/** What is wrong with an answer as far as its head tells; undefined when nothing is. */
export function faultOfHead(asked: Asked): string | undefined {
  if (isOfPages(asked)) return undefined
  const spec = routeOf(asked)
  const { status } = asked
  if (spec && asked.method !== 'HEAD') noteSeen(spec.method, spec.path, status)
  if (status >= 400 && spec?.answers[status] === undefined) {
    return edge.has(status) || (spec && errorsOf(spec).has(status)) ? undefined : named(asked, 'is no error of it')
  }
  const answer = spec?.answers[status]
  if (answer === undefined) return named(asked, 'is no status of it')
  const types = answer instanceof z.ZodType ? ['application/json'] : answer.contentTypes
  const type = asked.type.split(';')[0] ?? ''
  return status === 304 || types.includes('*') || types.includes(type)
    ? undefined
    : named(asked, `has the type ${type}`)
}

/** The same of a whole answer. */
export function faultOfAnswer(asked: Asked, text: string): string | undefined {
  if (isOfPages(asked) || asked.method === 'HEAD') return undefined
  const spec = routeOf(asked)
  const { status } = asked
  if (status >= 400 && spec?.answers[status] === undefined) {
    const parsed = errorBodySchema.safeParse(jsonOf(text))
    if (!parsed.success) return named(asked, `is no error: ${z.prettifyError(parsed.error)}`)
    const { code } = parsed.data.error
    const known = edge.get(status)?.has(code) || (spec && errorsOf(spec).get(status)?.has(code))
    return known ? undefined : named(asked, `has the code ${code}`)
  }
  const answer = spec?.answers[status]
  const schema = answer instanceof z.ZodType ? answer : answer?.schema
  if (schema === undefined) return undefined
  const parsed = schema.safeParse(jsonOf(text))
  return parsed.success ? undefined : named(asked, `has another body: ${z.prettifyError(parsed.error)}`)
}

const named = ({ method, path, status }: Asked, fault: string): string => `${method} ${path}: ${status} ${fault}`

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
