// How a verb that is a route is run: asked through one of the two doors, and its answer printed.
import { constants } from 'node:fs'
import { access, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { json as readJsonOf, text as readText } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { loadConfig } from '../kernel/config.ts'
import { ApiError } from '../producer/errors.ts'
import { findAcrossAccounts, needsAccount, sumOf } from './across-accounts.ts'
import { answerText } from './answer-text.ts'
import { type Asked, type Came, type Door, doorTo, openDoor, serviceOf } from './doors.ts'
import { CliFailure, fileFailure } from './failure.ts'
import { objectIn, readJson, readJsonObject, shownFile, writePrivate } from './files.ts'
import { printable, printableJson } from './print.ts'
import type { RefusedRows, RouteVerb } from './route-verb.ts'
import type { Terminal } from './run-verb.ts'
import { confirm, inSession, personHere, userName } from './session.ts'
import { type Address, faultSentences, REPORT_SUFFIX, refuseUnsound, type TypedRequest } from './typed-request.ts'

/**
 * Asks the route once for each request, and prints its answers. Rejects with a CliFailure when one is refused, or when nobody answers;
 * what was answered before is printed then.
 */
export async function runRoute(
  verb: RouteVerb,
  typed: readonly TypedRequest[],
  terminal: Terminal,
  isJson: boolean,
): Promise<void> {
  const config = loadConfig(terminal.env)
  const [first] = typed
  if (first === undefined) return
  const service = await serviceOf(config, first)
  const requests: TypedRequest[] = []
  for (const each of typed) requests.push(await completed(verb, each, terminal))
  // It is printed before the door is closed: bytes may still come.
  const askAll = async (door: Door): Promise<void> => {
    const documents: unknown[] = []
    const say = ({ status, json, after = verb.after, none = verb.none }: Said): void => {
      const text = isJson ? '' : answerText({ ...verb, after, none }, status, json)
      if (text !== '') terminal.stdout.write(`${text}\n`)
      if (!isJson) return
      if (requests.length === 1) terminal.stdout.write(`${printableJson(json)}\n`)
      else documents.push(json)
    }
    const refused: string[] = []
    try {
      for (const request of requests) {
        await askWhere(verb, request, door, terminal, say).catch((error: unknown) => {
          if (requests.length === 1 || !(error instanceof ApiError) || error.status >= 500) throw error
          // The others of the list are done all the same.
          refused.push(failureOf(error, request).message)
        })
      }
    } finally {
      if (documents.length > 0) terminal.stdout.write(`${printableJson(documents)}\n`)
    }
    if (refused.length > 0) throw new CliFailure(refused.join(' '))
  }
  try {
    if (service !== undefined) await askAll(doorTo(service.url, service.key))
    else
      await inSession(config, terminal, (context) =>
        askAll(openDoor(context, { actor: { cli: userName() }, name: personHere() })),
      )
  } catch (error) {
    throw error instanceof ApiError ? failureOf(error, requests[0] ?? first) : error
  }
}

/** An answer that is printed. */
interface Said {
  status: number
  json: unknown
  none?: string | undefined
  after?: RouteVerb['after']
}

/** The request with what it takes from files and from standard input. Throws a CliFailure for what the schemas of the route refuse. */
async function completed(verb: RouteVerb, typed: TypedRequest, { stdin }: Terminal): Promise<TypedRequest> {
  const { bodyFile, fromStdin, to = verb } = typed
  const inside = bodyFile === undefined ? undefined : await bodyIn(bodyFile, stdin, verb.listAs)
  const body = verb.typed?.body(typed.body, inside) ?? { ...inside, ...typed.body }
  if (fromStdin !== undefined) body[fromStdin] = (await readText(stdin)).trim()
  const inFile = bodyFile === undefined ? {} : { '': shownFile(bodyFile), [verb.listAs ?? '']: shownFile(bodyFile) }
  // What a file has is called as it is there.
  const names = verb.typed === undefined || bodyFile === undefined ? [] : Object.keys(verb.typed.schema.shape)
  const words = Object.entries(typed.spelled).filter(([name]) => name in typed.body || !names.includes(name))
  const spelled = { ...Object.fromEntries(words), ...inFile }
  const request = { ...typed, body, spelled }
  refuseUnsound(to, request)
  return request
}

/** The body in a file. A list is the field `listAs` of one. */
async function bodyIn(path: string, stdin: Readable, listAs: string | undefined): Promise<Record<string, unknown>> {
  if (listAs === undefined) return readJsonObject(path, stdin)
  const content = await readJson(path, stdin)
  return Array.isArray(content) ? { [listAs]: content } : objectIn(content, path)
}

/** Asks for the account that was named or the key has, or else for each in which the verb finds something. */
async function askWhere(
  verb: RouteVerb,
  request: TypedRequest,
  door: Door,
  terminal: Terminal,
  say: (said: Said) => void,
): Promise<void> {
  const { across } = verb
  try {
    await askOnce(verb, request, door, terminal, say)
  } catch (error) {
    if (across === undefined || !needsAccount(error)) throw error
    const { to = verb, params, query, headers, body } = request
    const asked: Asked = { params, query, headers, body, account: undefined }
    const found = await findAcrossAccounts(to, asked, door)
    if (body.dry_run === true || found.size === 0) {
      const none = found.size === 0 ? await hintFor(verb, asked, door) : undefined
      return say({
        status: 200,
        json: { status: true, message: 'nothing was changed', data: sumOf(found.values()) },
        none,
      })
    }
    const { declined, otherwise } = across
    if (found.size > 1 && !request.yes) {
      await confirm(terminal, { sentence: across.sentence([...found.keys()]), declined, otherwise })
    }
    for (const id of found.keys()) await askOnce(verb, { ...request, account: String(id) }, door, terminal, say)
  }
}

/** The sentence for what brings nothing. A refusal of what it asks leaves the usual one. */
async function hintFor({ hint }: RouteVerb, asked: Asked, door: Door): Promise<string | undefined> {
  // Of a later page nothing is known of those before.
  if (hint === undefined || 'cursor' in asked.query) return undefined
  return hint(asked, door).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    return undefined
  })
}

async function askOnce(
  verb: RouteVerb,
  request: TypedRequest,
  door: Door,
  terminal: Terminal,
  say: (said: Said) => void,
): Promise<void> {
  const { to = verb, file, output, yes, params, headers, body, account } = request
  const query = typeof verb.pages === 'number' ? { limit: String(verb.pages), ...request.query } : request.query
  const asked: Asked = { params, query, headers, body, account }
  // Where a verb asks another route than its own, the question is not about that.
  if (request.to === undefined) await askFirst(verb, asked, door, { ...terminal, isAgreed: yes })
  const report = file !== undefined && verb.report ? await openReport(file, request.report) : undefined
  const followed = request.detach ? undefined : verb.follows
  const came = await sendAndFollow(followed, to, asked, { file, door, terminal })
  for (const warning of came.warnings) terminal.stderr.write(`${printable(warning)}\n`)
  const isText = 'bytes' in came && output === undefined && isInPieces(verb)
  if ('bytes' in came && !isText) {
    await write(came.bytes, output, terminal)
    if (output !== undefined && output !== '-') say({ status: 200, json: { data: { file: resolve(output) } } })
    return
  }
  const whole = 'bytes' in came ? { status: 200, json: await readJsonOf(came.bytes) } : came
  const said = { ...whole, json: await filled(verb, whole.json, { ...asked, to, door }), after: request.after }
  const none = bringsNothing(said.json) ? await hintFor(verb, asked, door) : undefined
  await report?.write(verb.report?.(dataIn(said.json)), terminal)
  say({ ...said, none })
  const refused = refusedIn(said.json)
  if (refused > 0) throw new CliFailure(`Refused of the list: ${refused}.`)
  const failure = verb.fails?.(dataIn(said.json))
  if (failure !== undefined) throw new CliFailure(failure)
}

/** The answer, once it is over where something goes on in the background. */
async function sendAndFollow(
  follows: RouteVerb['follows'],
  to: Address,
  asked: Asked,
  { file, door, terminal }: { file: string | undefined; door: Door; terminal: Terminal },
): Promise<Came> {
  if (follows === undefined) return send(door, to, asked, file, terminal)
  const { followed } = await import('./follow.ts')
  return followed(follows, () => send(door, to, asked, file, terminal), to, asked, { door, stderr: terminal.stderr })
}

const pageSchema = z.looseObject({ data: z.array(z.unknown()), next: z.string().nullable() })
/** Entries of a page, and of all that are asked for where nobody has said how many. */
const PAGE = 1_000
const MOST = 100_000

/**
 * A list that nobody asked a page of, to its end, or to as many as the verb shows: a page of a search may be short, or empty. What was
 * typed as a page stays one.
 */
async function filled(
  { pages }: RouteVerb,
  json: unknown,
  { to, door, ...asked }: Asked & { to: Address; door: Door },
): Promise<unknown> {
  const first = pageSchema.safeParse(json).data
  if (pages === undefined || first === undefined) return json
  const isTyped = 'limit' in asked.query
  if (pages === 'all' && (isTyped || 'cursor' in asked.query)) return json
  const most = isTyped ? Number(asked.query.limit) : pages === 'all' ? MOST : pages
  let { data, next } = first
  while (next !== null && data.length < most) {
    const query = { ...asked.query, limit: String(Math.min(PAGE, most - data.length)), cursor: next }
    const came = await door(to, { ...asked, query })
    const more = pageSchema.parse('json' in came ? came.json : undefined)
    data = [...data, ...more.data]
    next = more.next
  }
  return { ...first, data, next }
}

/**
 * The report on the refused rows of a file. What an earlier one left is removed once the file was taken, so that nobody takes it for this
 * one.
 */
async function openReport(file: string, typed: string | undefined) {
  const path = resolve(typed ?? `${file}${REPORT_SUFFIX}`)
  if (path === resolve(file)) throw new CliFailure('--report: expected another file than the one imported.', 2)
  try {
    // Before the rows go up: they would be sent, and the report be lost.
    await access(dirname(path), constants.W_OK)
    if ((await stat(path).catch(() => undefined))?.isDirectory()) throw Object.assign(new Error(), { code: 'EISDIR' })
  } catch (error) {
    throw fileFailure(path, error)
  }
  return {
    async write(refused: RefusedRows | undefined, { stderr }: Terminal): Promise<void> {
      await rm(path, { force: true })
      if (refused === undefined || refused.count === 0) return
      const { count, header, lines } = refused
      await writePrivate(path, Readable.from([header, ...lines]))
      const which = count > lines.length ? `The first ${lines.length} of ${count} refused rows` : 'Refused rows'
      stderr.write(`${which} are in ${path}.\n`)
    },
  }
}

/** Asks the route, with the file that goes up to it. */
async function send(door: Door, to: Address, asked: Asked, file: string | undefined, { stderr }: Terminal) {
  if (file === undefined || to.spec.body.as !== 'stream') return door(to, asked)
  const { openUpload, refusedFile } = await import('./upload.ts')
  const upload = await openUpload(to.spec.body, file, asked.body, stderr)
  try {
    return await door(to, { ...asked, upload }).finally(() => upload.stop())
  } catch (error) {
    throw error instanceof ApiError && error.status === 400 ? refusedFile(file, error) : error
  }
}

/** Asks before something is removed, by its name where a route shows it, and before what else the verb says. */
async function askFirst(
  verb: RouteVerb,
  request: Asked,
  door: Door,
  terminal: Terminal & { isAgreed: boolean },
): Promise<void> {
  const { spec, asks, summary, usage } = verb
  if (asks === false || (asks === undefined && spec.method !== 'delete')) return
  if (asks !== undefined) {
    const shown = await shownBy(verb, request, door)
    if (shown === undefined) return
    const isPerson = 'isTTY' in terminal.stdin && terminal.stdin.isTTY === true
    // Also where it is agreed: it may be refused altogether.
    const sentence = asks.sentence(request, shown, isPerson)
    const { declined, otherwise } = asks
    if (sentence === undefined || terminal.isAgreed) return
    return confirm(terminal, { sentence, declined, otherwise: otherwise?.(shown) })
  }
  if (terminal.isAgreed) return
  const shown = await shownBy(verb, request, door)
  if (shown === undefined) return
  const what = [usage.split(' <')[0], ...Object.values(request.params)].join(' ')
  const name = typeof shown.name === 'string' ? ` (${printable(shown.name)})` : ''
  await confirm(terminal, { sentence: `${what}${name}: ${summary}`, declined: 'Nothing was removed.' })
}

/**
 * What the verb is about, as its route shows it. Undefined for what is not there any more: nobody need be asked about that, and the verb
 * says so, or removes what a removal has left undone.
 */
async function shownBy(
  { family, about }: RouteVerb,
  request: Asked,
  door: Door,
): Promise<Record<string, unknown> | undefined> {
  const look = typeof about === 'function' ? about(request.body) : about && { spec: about, body: {} }
  if (look === undefined) return {}
  try {
    const came = await door({ family, spec: look.spec }, { ...request, query: {}, headers: {}, body: look.body })
    return fields.safeParse(dataIn('json' in came ? came.json : undefined)).data ?? {}
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

const answerSchema = z.object({ data: z.unknown() })
const fields = z.record(z.string(), z.unknown())
const dataIn = (json: unknown): unknown => answerSchema.safeParse(json).data?.data

const nothing = z.union([
  z.object({ data: z.tuple([]), next: z.null() }),
  z.object({ data: z.looseObject({ matched: z.literal(0) }) }),
])
const bringsNothing = (json: unknown): boolean => nothing.safeParse(json).success

const result = z.looseObject({ error: z.unknown().optional() })
const resultsSchema = z.union([z.object({ data: z.array(result) }), z.object({ results: z.array(result) })])

/** How many of a list were refused, where each has a result of its own. */
function refusedIn(json: unknown): number {
  const { data } = resultsSchema.safeParse(json)
  const results = data === undefined ? [] : 'results' in data ? data.results : data.data
  return results.filter(({ error }) => typeof error === 'object' && error !== null).length
}

/** Whether the answer is JSON that is written in pieces: on a terminal it is shown like any other. */
function isInPieces({ spec }: RouteVerb): boolean {
  const answer = spec.answers[200]
  return answer !== undefined && 'contentTypes' in answer && answer.contentTypes.includes('application/json')
}

async function write(bytes: Readable, output: string | undefined, { stdout }: Terminal): Promise<void> {
  // It may be a stranger's file, which a terminal would obey.
  if (output === undefined && 'isTTY' in stdout && stdout.isTTY) {
    throw new CliFailure('This is a file: name where it goes by --output, or `-` for standard output.', 2)
  }
  if (output === undefined || output === '-') await pipeline(bytes, stdout, { end: false })
  else await writePrivate(resolve(output), bytes)
}

/** A refusal in the words of who typed the command: a field by its option. */
function failureOf(
  { status, code, message, details, headers }: ApiError,
  { spelled, params, query, body, account }: TypedRequest,
): CliFailure {
  if (code === 'not_found') {
    const named = (/account/i.test(message) ? account : undefined) ?? Object.values(params).join(' ')
    return new CliFailure(`${message.replace(/\.$/, '')}${named ? `: ${named}` : ''}. [${code}]`)
  }
  if (status === 503 && code === 'unavailable') return new CliFailure(message, 3)
  const id = status >= 500 && headers['x-request-id'] ? ` Its request id is ${headers['x-request-id']}.` : ''
  // What is in the way, such as a state, is no fault of what was typed.
  const isOfTyped =
    details.length > 0 && (status === 400 || details.every(({ path }) => path in { ...params, ...query, ...body }))
  return new CliFailure(`${isOfTyped ? faultSentences(details, spelled) : message}${id} [${code}]`)
}
