// The two doors to a route: this process on Redis, as an operator, and a service over HTTP, with a key. Both give the same answer, and
// the same refusal.
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { Config } from '../kernel/config.ts'
import type { Actor } from '../model/accounts/audit-log.ts'
import { openApi } from '../producer/api/routes.ts'
import type { FamilyId } from '../producer/api/table.ts'
import { ApiError } from '../producer/errors.ts'
import { openHere, type Upload } from '../producer/in-process.ts'
import type { RouteSpec } from '../producer/route.ts'
import { toApiError } from '../producer/to-api-error.ts'
import { isRedisAway } from '../redis/errors.ts'
import { CliFailure, fileFailure, reasonOf } from './failure.ts'
import type { Address } from './typed-request.ts'
import type { CommandContext } from './verb.ts'

/** A request to a route, as it travels. */
export interface Asked {
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  body: Record<string, unknown>
  /** The body of a route that takes a stream. */
  upload?: Upload | undefined
  /** The account that an operator acts for. */
  account: string | undefined
}

/** What comes back: JSON or bytes, and what the headers warn of. */
export type Came = { warnings: string[] } & ({ status: number; json: unknown } | { bytes: Readable })

/** Rejects with an ApiError for what is refused, and with a CliFailure of code 3 when nobody answers. */
export type Door = (to: Address, asked: Asked) => Promise<Came>

/** Routes answered by this process in the name of `actor`; handlers are loaded by family. Open for as long as the command runs. */
export function openDoor(
  { redis, config, use }: Pick<CommandContext, 'redis' | 'config' | 'use'>,
  { actor, name }: { actor: Actor; name: string },
): Door {
  // Both take a while to load, and few families ask for them.
  const log = async () => (await import('../kernel/log.ts')).createLog({ logLevel: 'silent' }, 'cli')
  const telemetry = async () => (await import('../telemetry/telemetry.ts')).createTelemetry()
  const deps = { redis, config, log, telemetry, demo: undefined, isStopping: () => false }
  const opened = new Map<FamilyId, ReturnType<typeof openApi>>()
  use({
    close: async () => {
      for (const each of await Promise.allSettled(opened.values())) {
        if (each.status === 'fulfilled') await each.value.close()
      }
    },
  })
  const answer = openHere({ redis, config, actor, name })

  async function routeOf({ family, spec }: Address) {
    const opening = opened.get(family) ?? openApi(deps, [family])
    opened.set(family, opening)
    // What could not be opened now may be later.
    opening.catch(() => opened.delete(family))
    const route = (await opening).routes.find(({ method, path }) => method === spec.method && path === spec.path)
    if (route === undefined) throw new Error(`${spec.method} ${spec.path} is not in ${family}`)
    return route
  }

  return async (to, asked) => {
    // This process counts nothing.
    if (to.family === 'metrics') throw new CliFailure('Metrics are those of a process: name its address by --url.', 2)
    const answered = await routeOf(to)
      .then((route) => answer(route, asked))
      .catch((error: unknown) => {
        const refusal = toApiError(error)
        // What is told of a Redis that is away is more than what a service tells strangers.
        throw refusal.code === 'internal' || isRedisAway(error) ? error : refusal
      })
    const warnings = warningsIn((name) => answered.headers?.[name])
    if ('body' in answered) return { warnings, status: answered.status ?? 200, json: answered.body }
    if ('stream' in answered) return { warnings, bytes: answered.stream }
    if ('text' in answered) return { warnings, bytes: Readable.from([answered.text]) }
    return { warnings, bytes: await answered.file.files.read(answered.file.name) }
  }
}

/** Headers that tell what the body does not. */
const WARNINGS = {
  'x-laneway-warning': (value: string) => `Warning: ${value}.`,
  'x-laneway-ignored': (value: string) => `These fields were ignored: ${value}.`,
} as const

const warningsIn = (header: (name: string) => string | null | undefined): string[] =>
  Object.entries(WARNINGS).flatMap(([name, say]) => {
    const value = header(name)
    return value ? [say(value)] : []
  })

/** How long a service may take to begin its answer, and to end one in JSON. */
const ANSWER_WITHIN_MS = 60_000
/** Bytes of an answer in JSON at most: more than the largest that Laneway gives. */
const JSON_MOST = 64 * 1024 * 1024

/** Routes answered by the service at this address. */
export const doorTo =
  (url: string, key: string | undefined): Door =>
  async ({ spec }, asked) => {
    const isKeyed = spec.access.in !== 'open'
    if (isKeyed && key === undefined) {
      throw new CliFailure('Give the key in LANEWAY_KEY, or name a file with it by --key-file.', 2)
    }
    const address = addressOf(url, spec, asked)
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('no answer in time')), ANSWER_WITHIN_MS)
    // A file takes as long as its line does.
    const upload = asked.upload && { ...asked.upload, pieces: eachNoted(asked.upload.pieces, () => timer.refresh()) }
    try {
      const request = requestOf(spec, { ...asked, upload }, key)
      const response = await fetch(address, { ...request, redirect: 'error', signal: late.signal })
      const warnings = warningsIn((name) => response.headers.get(name))
      if (response.ok && isBytes(spec, response.status))
        return { warnings, bytes: Readable.from(piecesOf(response, address)) }
      const json = await jsonOf(response)
      if (response.ok && typeof json === 'object' && json !== null) return { warnings, status: response.status, json }
      throw refusalOf(response, json, address)
    } catch (error) {
      const own = error instanceof Error && error.cause instanceof CliFailure ? error.cause : error
      throw own instanceof ApiError || own instanceof CliFailure ? own : unreachable(address, own)
    } finally {
      clearTimeout(timer)
    }
  }

function addressOf(url: string, { path }: RouteSpec, { params, query }: Asked): URL {
  const named = path.replaceAll(/:(\w+)/g, (_, name: string) => {
    const value = params[name] ?? ''
    // As parts of a path they mean another one.
    if (/^\.{0,2}$/.test(value)) throw new CliFailure(`<${name}>: expected what a list shows, got "${value}".`, 2)
    return encodeURIComponent(value)
  })
  const address = new URL(url + named)
  for (const [name, value] of Object.entries(query)) address.searchParams.set(name, value)
  return address
}

/** The same pieces; `note` is called with each. */
async function* eachNoted<T>(pieces: AsyncIterable<T>, note: (piece: T) => void): AsyncGenerator<T> {
  for await (const piece of pieces) {
    note(piece)
    yield piece
  }
}

function requestOf({ access, body: rule, method }: RouteSpec, { headers, body, upload, account }: Asked, key = '') {
  const isKeyInBody = access.in === 'api_key'
  const hasBody = rule.as === 'json'
  return {
    method: method.toUpperCase(),
    headers: {
      ...headers,
      ...(account !== undefined && { 'x-laneway-account': account }),
      ...(access.in === 'bearer' && { authorization: `Bearer ${key}` }),
      ...(hasBody && { 'content-type': 'application/json' }),
      ...(upload && { 'content-type': upload.contentType }),
    },
    ...(upload && { body: upload.pieces, duplex: 'half' as const }),
    ...(hasBody && { body: JSON.stringify({ ...body, ...(isKeyInBody && { api_key: key }) }) }),
  }
}

/** Whether the answer is not one JSON object that is held in memory. */
const isBytes = ({ answers }: RouteSpec, status: number): boolean => {
  const answer = answers[status]
  return answer !== undefined && 'contentTypes' in answer
}

/** The bytes of an answer; a connection that is lost on the way is told as one that was never there. */
async function* piecesOf({ body }: Response, address: URL): AsyncGenerator<Uint8Array> {
  try {
    if (body !== null) yield* body
  } catch (error) {
    throw unreachable(address, error)
  }
}

/** Undefined for what is no JSON. */
async function jsonOf({ body }: Response): Promise<unknown> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  for await (const piece of body ?? []) {
    bytes += piece.length
    if (bytes > JSON_MOST) return undefined
    pieces.push(piece)
  }
  try {
    return JSON.parse(Buffer.concat(pieces).toString('utf8'))
  } catch {
    return undefined
  }
}

/** Loosely: a later release may say more. */
const refusalSchema = z.looseObject({
  message: z.string(),
  error: z.looseObject({
    code: z.string(),
    details: z.array(z.looseObject({ path: z.string(), message: z.string() })).default([]),
    request_id: z.string().default(''),
  }),
})

function refusalOf({ status }: Response, json: unknown, { origin }: URL): Error {
  const { data } = refusalSchema.safeParse(json)
  if (data === undefined) return new CliFailure(`${origin} answered ${status}: it is no Laneway.`, 3)
  const { code, details, request_id: id } = data.error
  return new ApiError(status, code, data.message, { details, headers: { 'x-request-id': id } })
}

function unreachable({ origin }: URL, error: unknown): CliFailure {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error
  return new CliFailure(`Laneway at ${origin} cannot be reached: ${reasonOf(cause)}.`, 3)
}

/** The address that is asked, and the key for it. */
export interface Service {
  url: string
  key: string | undefined
}

/**
 * The service that a command names, or that the settings do; undefined: none, and Redis is asked. A CliFailure for a key that belongs to
 * another service, or to none.
 */
export async function serviceOf(
  { url: set, key }: Pick<Config, 'url' | 'key'>,
  { url: typed, keyFile }: { url: string | undefined; keyFile: string | undefined },
): Promise<Service | undefined> {
  const url = typed ?? set
  if (url === undefined) {
    if (keyFile === undefined) return undefined
    throw new CliFailure('--key-file: needs an address in --url or LANEWAY_URL.', 2)
  }
  if (keyFile !== undefined) return { url, key: sound(await keyIn(keyFile), '--key-file') }
  // The key of one service is nothing for another.
  if (typed !== undefined && set !== undefined && new URL(typed).origin !== new URL(set).origin) {
    throw new CliFailure('LANEWAY_KEY is for LANEWAY_URL: name a file with the key for --url by --key-file.', 2)
  }
  return { url, key: key === undefined ? undefined : sound(key, 'LANEWAY_KEY') }
}

async function keyIn(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw fileFailure(path, error)
  })
  return text.trim()
}

/** A key that a header can hold. What it is must not be repeated. */
function sound(key: string, from: string): string {
  if (/^[!-~]+$/.test(key)) return key
  throw new CliFailure(`${from}: expected one key, and nothing else.`, 2)
}
