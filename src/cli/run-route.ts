// How a verb that is a route is run: asked through one of the two doors, and its answer printed.
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { json as readJsonOf } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { loadConfig } from '../kernel/config.ts'
import { ended } from '../kernel/refusal.ts'
import { ApiError } from '../producer/errors.ts'
import { answerText } from './answer-text.ts'
import { type Door, doorTo, openDoor, serviceOf } from './doors.ts'
import { CliFailure } from './failure.ts'
import { readJsonObject, writePrivate } from './files.ts'
import { flagOf, inputsOf } from './inputs.ts'
import { printable, printableJson } from './print.ts'
import type { RouteVerb, TypedRequest } from './route-verb.ts'
import type { Terminal } from './run-verb.ts'
import { confirm, inSession, userName } from './session.ts'

/** Asks the route and prints its answer. Rejects with a CliFailure when it is refused, or when nobody answers. */
export async function runRoute(
  verb: RouteVerb,
  typed: TypedRequest,
  terminal: Terminal,
  isJson: boolean,
): Promise<void> {
  const config = loadConfig(terminal.env)
  const { bodyFile, output, yes, keyFile, url, ...request } = typed
  if (bodyFile !== undefined) {
    request.body = { ...(await readJsonObject(bodyFile, terminal.stdin)), ...request.body }
  }
  if (verb.spec.method === 'delete' && !yes) {
    const what = [verb.usage.split(' <')[0], ...Object.values(request.params)].join(' ')
    await confirm(terminal, { sentence: `This removes something: ${what}`, declined: 'Nothing was done.' })
  }
  // It is printed before the door is closed: bytes may still come.
  const askAndPrint = async (door: Door): Promise<void> => {
    const came = await door(verb, request)
    for (const warning of came.warnings) terminal.stderr.write(`${printable(warning)}\n`)
    const isText = 'bytes' in came && output === undefined && isInPieces(verb)
    if ('bytes' in came && !isText) return write(came.bytes, output, terminal)
    const [status, json] = 'bytes' in came ? [200, await readJsonOf(came.bytes)] : [came.status, came.json]
    terminal.stdout.write(`${isJson ? printableJson(json) : answerText(verb, status, json)}\n`)
    const refused = refusedIn(json)
    if (refused > 0) throw new CliFailure(`Refused of the list: ${refused}.`)
  }
  try {
    const service = await serviceOf(config, { url, keyFile })
    if (service !== undefined) await askAndPrint(doorTo(service.url, service.key))
    else await inSession(config, terminal, (context) => askAndPrint(openDoor(context, { cli: userName() })))
  } catch (error) {
    throw error instanceof ApiError ? failureOf(verb, error) : error
  }
}

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

/** The names of the account in refusals. */
const ACCOUNT_NAMES: ReadonlySet<string> = new Set(['x-laneway-account', 'account'])

/** A refusal in the words of who typed the command: a field by its option. */
function failureOf({ spec, words }: RouteVerb, { status, code, message, details, headers }: ApiError): CliFailure {
  if (status === 503 && code === 'unavailable') return new CliFailure(message, 3)
  const inputs = inputsOf(spec, words)
  const named = (path: string): string => {
    if (ACCOUNT_NAMES.has(path)) return '--account'
    const input = inputs.find(({ name }) => name === path)
    if (input === undefined) return path
    return input.part === 'params' ? `<${flagOf(input).slice(2)}>` : flagOf(input)
  }
  const sentences = details.map((detail) => ended(`${named(detail.path)}: ${detail.message}`))
  const id = status >= 500 && headers['x-request-id'] ? ` Its request id is ${headers['x-request-id']}.` : ''
  return new CliFailure(`${sentences.length > 0 ? sentences.join(' ') : message}${id} [${code}]`)
}
