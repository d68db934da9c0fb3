// A route and its handler together: the fields of a request are read by the schemas of its route before the handler gets
// them, so that one answer names every fault, and a header names the ignored fields of an older client's body.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { z } from 'zod'
import type { Fault } from '../kernel/fault.ts'
import { allFieldNames, fieldNamesOf } from '../kernel/field-names.ts'
import { FAULTS_MAX } from '../kernel/refusal.ts'
import { isNeverIgnored, type UnknownField, unknownFault, unknownFields } from '../kernel/unknown-fields.ts'
import { faultsOf } from '../kernel/zod-faults.ts'
import type { AuditEvent } from '../model/accounts/audit-log.ts'
import { ACCOUNT_QUERY } from './acting-account.ts'
import { invalid } from './errors.ts'
import { ignoredHeader } from './ignored-header.ts'
import type { Answer, AuditEntry, ContextOf, Handler, Handlers, RequestContext, RouteSpec } from './route.ts'

/** A route that can be served. */
export interface Route extends RouteSpec {
  /** Checks the headers of an `open` route before its body is read; throws an ApiError when they cannot be right. */
  admit?: (headers: IncomingHttpHeaders) => void
  /** Answers a request, and appends what was done to the audit log with `appendAudit`. */
  handle: (context: RequestContext, appendAudit: AppendAudit) => Promise<Answer>
}

/** Appends what was done to the audit log; by the caller, unless it names somebody else. */
export type AppendAudit = (
  act: Pick<AuditEvent, 'account' | 'action' | 'target' | 'detail'> & { actor?: AuditEvent['actor'] },
) => Promise<void>

/** The routes of a family in their order, each with its handler. In two calls, so that the handlers know their types. */
export const bind =
  <T extends Readonly<Record<string, RouteSpec>>>(specs: T) =>
  (handlers: Handlers<T>, admit: { [K in keyof T]?: Route['admit'] } = {}): Route[] => {
    const names: (keyof T)[] = Object.keys(specs)
    return names.map((name) => bindOne(specs[name], handlers[name], admit[name]))
  }

function bindOne<R extends RouteSpec>(spec: R, handler: Handler<R>, admit: Route['admit']): Route {
  const read = readerOf(spec)
  const unknownIn = ignoringReader(spec)
  return {
    ...spec,
    ...(admit && { admit }),
    async handle(request, appendAudit) {
      const context = read(request)
      const ignored = unknownIn === undefined ? [] : await ignoredOf(unknownIn(request.sent), request)
      let entry: AuditEntry | 'nothing' = NONE
      if (spec.act !== undefined) {
        context.audit = (what) => {
          entry = what === 'nothing' || entry === 'nothing' ? 'nothing' : { ...entry, ...what }
        }
      }
      // The route's type limits what its handler may answer; that each of these is an Answer, TypeScript cannot prove.
      const answer = (await handler(context)) as Answer
      if (spec.act !== undefined) await recordOf(spec, request, answer, entry, appendAudit)
      if (ignored.length === 0) return answer
      const named = ignoredHeader(ignored)
      return 'headers' in answer
        ? { ...answer, headers: { ...named, ...answer.headers } }
        : { ...answer, headers: named }
    },
  }
}

/** Appends the act of the route to the audit log. */
async function recordOf(
  spec: RouteSpec,
  { request, caller }: RequestContext,
  answer: Answer,
  entry: AuditEntry | 'nothing',
  appendAudit: AppendAudit,
): Promise<void> {
  if (spec.act === undefined || entry === 'nothing') return
  const last = Object.keys(spec.params?.shape ?? {}).at(-1)
  const target = entry.target ?? (last === undefined ? idIn(answer) : String(request.params[last]))
  await appendAudit({ account: caller.account, action: spec.act, ...entry, target })
}

const withId = z.object({ body: z.object({ data: z.object({ id: z.union([z.string(), z.number()]) }) }) })

/** The id of what was created. */
const idIn = (answer: Answer): string | undefined => withId.safeParse(answer).data?.body.data.id.toString()

/** Finds the unknown fields in the flat body of an older client, on a route that ignores them and reads its body itself. */
function ignoringReader({ access, body }: RouteSpec): ((sent: object) => UnknownField[]) | undefined {
  if (body.as !== 'json' || body.unknown !== 'named' || body.readBy !== undefined) return undefined
  const names = access.in === 'api_key' ? allFieldNames(body.schema, keySchema) : fieldNamesOf(body.schema)
  return (sent) => unknownFields(sent, {}, names, { elsewhere: names.get('') })
}

const keySchema = z.object({ api_key: z.string() })

/** The fields that are ignored; a 400 for those that are misspelt, and for all of them where the account refuses them. */
async function ignoredOf(
  unknown: readonly UnknownField[],
  { refusesUnknownFields }: RequestContext,
): Promise<readonly UnknownField[]> {
  if (unknown.length === 0) return unknown
  const refused = (await refusesUnknownFields()) ? unknown : unknown.filter(isNeverIgnored)
  if (refused.length > 0) throw invalid(refused.map(unknownFault))
  return unknown
}

/** Reads a request by the schemas of the route, or throws a 400 with the faults of path, query, headers and body. */
function readerOf<R extends RouteSpec>(spec: R): (context: RequestContext) => ContextOf<R> {
  const { body: rule } = spec
  const paramNames = Object.keys(spec.params?.shape ?? {})
  const headerNames = Object.keys(spec.headers?.shape ?? {})
  const isKeyed = spec.access.in !== 'open'
  const bodySchema = rule.as === 'json' && rule.readBy === undefined ? rule.schema : undefined

  return (context) => {
    const { sent, request } = context
    if (rule.as === 'json') rule.refuse?.(sent)
    const faults: Fault[] = []
    const parsed = <S extends z.ZodType>(schema: S | undefined, fields: () => unknown, otherwise: unknown): unknown => {
      if (schema === undefined) return otherwise
      const given = fields()
      const result = schema.safeParse(given)
      if (result.success) return result.data
      faults.push(...faultsOf(result.error, given, '', fieldNamesOf(schema)))
      return undefined
    }
    // A missing parameter is a fault of its field, not another address.
    context.params = parsed(spec.params, () => pick(paramNames, (name) => request.params[name] ?? ''), NONE)
    context.query = parsed(spec.query, () => (isKeyed ? withoutAccount(request.query) : request.query), NONE)
    context.headers = parsed(spec.headers, () => pick(headerNames, (name) => headerOf(request, name)), NONE)
    context.body = parsed(bodySchema, () => sent, rule.as === 'json' ? sent : undefined)
    if (faults.length > 0) throw invalid(faults.slice(0, FAULTS_MAX))
    // The fields were parsed above; TypeScript cannot prove types that depend on the route.
    return context as unknown as ContextOf<R>
  }
}

/**
 * The fields of a form, which the handler has received, by their schema, and the header that names those that are ignored;
 * else a 400 with the faults, or with the unknown fields that are refused.
 */
export async function readForm<S extends z.ZodType>(
  schema: S,
  fields: Readonly<Record<string, unknown>>,
  context: RequestContext,
): Promise<{ form: z.output<S>; headers: Readonly<Record<string, string>> }> {
  const names = fieldNamesOf(schema)
  const parsed = schema.safeParse(fields)
  if (!parsed.success) throw invalid(faultsOf(parsed.error, fields, '', names).slice(0, FAULTS_MAX))
  const ignored = await ignoredOf(unknownFields(fields, {}, names, { elsewhere: names.get('') }), context)
  return { form: parsed.data, headers: ignoredHeader(ignored) }
}

const NONE = Object.freeze({})

/** The query without the account, which is read with the key (acting-account.ts). */
function withoutAccount(query: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  if (!(ACCOUNT_QUERY in query)) return query
  const { [ACCOUNT_QUERY]: _account, ...own } = query
  return own
}

function pick(names: readonly string[], take: (name: string) => unknown): Record<string, unknown> {
  const picked: Record<string, unknown> = {}
  for (const name of names) picked[name] = take(name)
  return picked
}

const headerOf = ({ headers }: Pick<IncomingMessage, 'headers'>, name: string): string | undefined =>
  headers[name.toLowerCase()]?.toString()
