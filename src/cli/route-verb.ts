// A verb of the command line that is a route of the table: its arguments and options are the fields of the route, and its answer is
// that of the route, whether it is asked in this process or over HTTP.
import { webAddress } from '../kernel/config.ts'
import { quoted } from '../kernel/fault.ts'
import { iso } from '../kernel/instant.ts'
import { isZone, parseMoment } from '../kernel/moment.ts'
import type { FamilyId } from '../producer/api/table.ts'
import type { RouteSpec } from '../producer/route.ts'
import { CliFailure } from './failure.ts'
import { flagOf, type Input, inputsOf, readTyped } from './inputs.ts'
import type { ShownOption } from './verb.ts'
import { attributeOf, wordOf } from './words.ts'

/** A request as it was typed. */
export interface TypedRequest {
  params: Record<string, string>
  query: Record<string, string>
  headers: Record<string, string>
  body: Record<string, unknown>
  /** The account that an operator acts for. */
  account: string | undefined
  /** Where the service is; undefined: this process answers, beside Redis. */
  url: string | undefined
  keyFile: string | undefined
  /** A file with the whole body. */
  bodyFile: string | undefined
  /** Where bytes are written; undefined: on standard output. */
  output: string | undefined
  /** Nobody is asked before something is removed. */
  yes: boolean
}

/** What a verb says of itself besides its route. */
interface Said {
  /** `show`, where it is not the name of the route. */
  verb?: string
  /** The rest of a command line that works, after the verb. */
  example: string
  /** The fields of a list, in the order of its columns; else the first that fit. */
  columns?: readonly string[]
  /** The sentence for an empty list. */
  none?: string
  /** Fields that are typed by another word: `--url` is the address of the service. */
  words?: Readonly<Record<string, string>>
}

export interface RouteVerb extends Said {
  family: FamilyId
  spec: RouteSpec
  usage: string
  summary: string
  options: readonly ShownOption[]
  prepare(typed: Readonly<Record<string, unknown>>, spelling: (name: string) => string): TypedRequest
}

/** The verb of a route. `name` is that of the route in its family. */
export function routeVerb(family: FamilyId, name: string, spec: RouteSpec, said: Said): RouteVerb {
  const inputs = inputsOf(spec, said.words)
  const typed = inputs.filter(({ part }) => part !== 'params')
  const args = inputs.filter(({ part }) => part === 'params').map(({ word }) => `<${word}>`)
  return {
    ...said,
    ...{ family, spec },
    usage: [said.verb ?? wordOf(name), ...args].join(' '),
    summary: sentenceOf(spec.summary),
    options: [...typed.map(shown), ...commonOptions(spec, typed)],
    prepare: (given, spelling) => prepare(spec, inputs, given, spelling),
  }
}

/** `list the senders of an account`, of a sentence that begins with `Lists`. */
const sentenceOf = (summary: string): string => {
  const [first = '', ...rest] = summary.replace(/\.$/, '').split(' ')
  return [
    first
      .toLowerCase()
      .replace(/(?<=sh|ch|ss)es$/, '')
      .replace(/s$/, ''),
    ...rest,
  ].join(' ')
}

const shown = (input: Input): ShownOption => ({
  flags: input.placeholder === '' ? flagOf(input) : `${flagOf(input)} <${input.placeholder}>`,
  meaning: [input.meaning, input.mayBeNone && 'none for null', input.isRequired && input.part === 'body' && 'required']
    .filter(Boolean)
    .join('; '),
  // With --body another place may have it, so the route decides.
  isRequired: input.isRequired && input.part === 'query',
})

const option = (flags: string, meaning: string): ShownOption => ({ flags, meaning, isRequired: false })

/** Options that follow from what the route is. */
function commonOptions({ access, body, method, headers, answers }: RouteSpec, typed: readonly Input[]): ShownOption[] {
  const isKeyed = access.in !== 'open'
  return [
    ...(isKeyed ? [option('--account <id>', 'account that an operator acts for')] : []),
    ...(body.as === 'json' ? [option('--body <file>', 'JSON of the whole body; `-` is standard input')] : []),
    ...(headers && 'Idempotency-Key' in headers.shape
      ? [option('--idempotency-key <key>', 'a repeat with the same key does nothing twice')]
      : []),
    ...(typed.some(({ kind }) => kind === 'time') ? [option('--zone <zone>', ZONE)] : []),
    ...(method === 'delete' ? [option('--yes', 'do not ask first')] : []),
    ...(Object.values(answers).some((answer) => 'contentTypes' in answer)
      ? [option('--output <file>', 'where it is written; standard output if not given')]
      : []),
    option('--url <address>', 'ask the service at this address, with a key, instead of Redis'),
    ...(isKeyed ? [option('--key-file <file>', 'file with the key for --url, instead of LANEWAY_KEY')] : []),
  ]
}

const ZONE = 'zone of times without one, such as Europe/Berlin; that of this machine if not given'

function prepare(
  spec: RouteSpec,
  inputs: readonly Input[],
  given: Readonly<Record<string, unknown>>,
  spelling: (name: string) => string,
): TypedRequest {
  const names = new Set(inputs.map(({ word }) => attributeOf(word)))
  /** Of an option that is no field. */
  const text = (name: string): string | undefined => {
    const value = names.has(name) ? undefined : given[name]
    return typeof value === 'string' ? value : undefined
  }
  const zone = text('zone')
  if (zone !== undefined && !isZone(zone)) {
    throw new CliFailure(`--zone: expected a zone such as Europe/Berlin, got ${quoted(zone)}.`, 2)
  }
  const at = { nowMs: Date.now(), zone: zone ?? new Intl.DateTimeFormat().resolvedOptions().timeZone }
  const request: TypedRequest = {
    ...{ params: {}, query: {}, headers: {}, body: {} },
    ...{ account: text('account'), url: addressIn(text('url')), keyFile: text('keyFile') },
    ...{ bodyFile: text('body'), output: text('output'), yes: given.yes === true },
  }
  const faults: string[] = []
  for (const input of inputs) {
    const attribute = attributeOf(input.word)
    const value = given[attribute]
    if (value === undefined || value === false) continue
    const read = readTyped(input, input.kind === 'time' ? momentOf(String(value), at) : String(value))
    if ('fault' in read) faults.push(`${spelling(attribute)}: ${read.fault}.`)
    else if (input.part === 'body') request.body[input.name] = read.value
    // As parts of a path they mean another one.
    else if (input.part === 'params' && /^\.{0,2}$/.test(String(read.value))) {
      faults.push(`${spelling(attribute)}: expected what a list shows, got ${quoted(read.value)}.`)
    } else request[input.part][input.name] = String(read.value)
  }
  if (faults.length > 0) throw new CliFailure(faults.join(' '), 2)
  // Pages of other sites cannot send it, which is what the address asks it for.
  if (spec.headers && 'X-Requested-With' in spec.headers.shape) request.headers['X-Requested-With'] = 'XMLHttpRequest'
  const idempotencyKey = text('idempotencyKey')
  if (idempotencyKey !== undefined && !/^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey)) {
    throw new CliFailure(
      '--idempotency-key: expected what a header can hold: ASCII letters, digits and punctuation.',
      2,
    )
  }
  if (idempotencyKey !== undefined) request.headers['Idempotency-Key'] = idempotencyKey
  if (spec.access.in !== 'open' && request.account !== undefined && !/^[1-9]\d{0,15}$/.test(request.account)) {
    throw new CliFailure(`--account: expected the number of an account, got ${quoted(request.account)}.`, 2)
  }
  return request
}

/** The address of a service, by the rules of LANEWAY_URL. */
function addressIn(typed: string | undefined): string | undefined {
  const { data, error } = webAddress.safeParse(typed)
  if (error === undefined) return data
  throw new CliFailure('--url: expected an address such as https://laneway.example, without a password, ? and #.', 2)
}

/** A text that is no moment stays as it is, and is refused by the route. */
function momentOf(text: string, at: { nowMs: number; zone: string }): string {
  const ms = parseMoment(text, at)
  return ms === undefined ? text : iso(ms)
}
