// What was typed for a verb that is a route, as the request that it stands for. Whether a value is right, the schemas of the route say:
// they are asked before anybody else is, so that a slip of the fingers ends with 2 whether there is a service or not.
import { resolve } from 'node:path'
import type { z } from 'zod'
import { webAddress } from '../kernel/config.ts'
import { type Fault, quoted } from '../kernel/fault.ts'
import { fieldNamesOf } from '../kernel/field-names.ts'
import { iso } from '../kernel/instant.ts'
import { isZone, parseDuration, parseMoment } from '../kernel/moment.ts'
import { ended } from '../kernel/refusal.ts'
import { faultsOf } from '../kernel/zod-faults.ts'
import type { FamilyId } from '../producer/api/table.ts'
import type { RouteSpec } from '../producer/route.ts'
import { CliFailure } from './failure.ts'
import { flagOf, type Input, readTyped } from './inputs.ts'
import { attributeOf, wordOf } from './words.ts'

/** A route, by its family. */
export interface Address {
  family: FamilyId
  spec: RouteSpec
}

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
  /** A file with the whole body in JSON. */
  bodyFile: string | undefined
  /** The file that the route takes. */
  file: string | undefined
  /** Where the report on refused rows of the file is written. */
  report: string | undefined
  /** The field of the body that is read from standard input: what is typed, everybody on the machine can see. */
  fromStdin?: string | undefined
  /** The route that is asked, where it is not that of the verb, and what is printed after its answer. */
  to?: Address | undefined
  after?: ((data: Readonly<Record<string, unknown>>) => string) | undefined
  /** Where bytes are written; undefined: on standard output. */
  output: string | undefined
  /** Nobody is asked before something is removed. */
  yes: boolean
  /** What is begun goes on without anybody who waits for it. */
  detach: boolean
  /** How each field is typed: `--daily-limit`, or `<id>` for an argument. */
  spelled: Readonly<Record<string, string>>
}

/** How the fields of a route are typed, where it is not the usual way. */
export interface Typing {
  /** Fields that are typed by another word. */
  words?: Readonly<Record<string, string>>
  /** Fields of the body that are arguments, after those of the path. */
  arguments?: readonly string[]
  /** `first`: the account is the first argument, `<id>`. `none`: the route is about no account, or about the one in its path. */
  account?: 'first' | 'none'
  /** One field of the body, by its name, is `<setting> <value>`, and no option. */
  setting?: Setting
  /** The fields of the body that are options; all of them where it is not given. */
  fields?: readonly string[]
  /** The field of the body that is read from standard input where `-` is typed. */
  stdin?: string
  /** A list in the file with the body is this field of it. */
  listAs?: string
  /** The file with the whole body in JSON is the first argument, and no option. */
  reads?: 'body'
  /** `file`: where the bytes of the answer go is the last argument, and no option. */
  writes?: 'file'
  /** Fields that are typed in place of those of the body, and the body that they make, with that in the file where one is named. */
  typed?: {
    schema: z.ZodObject
    body(fields: Record<string, unknown>, file: Record<string, unknown> | undefined): Record<string, unknown>
  }
  /** The route for one thing, which the first argument names where it is typed. */
  orOne?: { word: string; spec: RouteSpec }
  /** The field that a text is for, where that is not the field of its option. */
  field?: (name: string, text: string) => string
  /** Times that lie ahead: `90d` is in 90 days, and not 90 days ago. */
  ahead?: readonly string[]
  /** Fields of the body that the verb itself says. */
  body?: Readonly<Record<string, unknown>>
  /** Fields whose text is read in another way than that of their kind. */
  read?: Readonly<Record<string, { placeholder: string; value: (text: string) => unknown }>>
  /** Options without a value that stand for fields of the body, each with the options that cannot be typed beside it. */
  flags?: Readonly<
    Record<string, { meaning: string; body: Readonly<Record<string, unknown>>; without: readonly string[] }>
  >
}

/** How a field is typed as `<setting> <value>`. */
interface Setting {
  /** The word that stands for null. */
  forNull: string
  /** The fields that are settings; all of them where it is not given. */
  of?: readonly string[]
  /** Settings that are no fields of the route, and the request that each is. */
  others?: Readonly<Record<string, (value: string, params: Readonly<Record<string, string>>) => Partial<TypedRequest>>>
}

/** The argument of an account. */
export const ACCOUNT_ARGUMENT = 'id'
/** That of a file which goes up or comes down. */
export const FILE_ARGUMENT = 'file'
/** What follows the name of a file in that of the report on its refused rows. */
export const REPORT_SUFFIX = '.refused.csv'

/** `-` is standard input. */
const pathOf = (typed: string | undefined): string | undefined =>
  typed === undefined || typed === '-' ? typed : resolve(typed)

const EXPECTED_PATH = 'expected the path of a file, which standard input and output are not, got "-".'

const outputOf = ({ typing }: Form, text: (name: string) => string | undefined): string | undefined =>
  text(typing.writes === 'file' ? FILE_ARGUMENT : 'output')

/** The names of the settings that can be typed. */
export const settingNames = (inputs: readonly Input[], setting: Setting): string[] => [
  ...inputs.filter((input) => isSetting(input, setting)).map(({ name }) => name),
  ...Object.keys(setting.others ?? {}),
]

const isSetting = ({ part, name }: Input, { of }: Setting): boolean => part === 'body' && (of?.includes(name) ?? true)

/** The fields of a verb, and how they are typed. */
export interface Form extends Address {
  inputs: readonly Input[]
  typing: Typing
}

type Given = Readonly<Record<string, unknown>>

/** The request of the words that were typed, each under its camel-cased name. Throws a CliFailure that names all that cannot be read. */
export function typedRequest(form: Form, given: Given): TypedRequest {
  const { spec, inputs, typing } = form
  const names = new Set(inputs.map(({ word }) => attributeOf(word)))
  /** Of an option that is no field. */
  const text = (name: string): string | undefined => {
    const value = names.has(name) ? undefined : given[name]
    return typeof value === 'string' ? value : undefined
  }
  const account = text(typing.account === 'first' ? ACCOUNT_ARGUMENT : 'account')
  const request: TypedRequest = {
    ...{ params: {}, query: {}, headers: {}, body: { ...typing.body } },
    ...{ account, url: addressIn(text('url')), keyFile: text('keyFile') },
    ...{
      bodyFile: pathOf(text(typing.reads === 'body' ? FILE_ARGUMENT : 'body')),
      output: outputOf(form, text),
      yes: given.yes === true,
      detach: given.detach === true,
    },
    ...{ file: spec.body.as === 'stream' ? text(FILE_ARGUMENT) : undefined, report: text('report') },
    spelled: spellingOf(form),
  }
  const faults: string[] = []
  takeFlags(form, given, request, faults)
  takeInputs(form, given, request, faults, zoneOf(text('zone')))
  if (typing.setting !== undefined) takeSetting(typing.setting, form, given, request, faults)
  if (account !== undefined && spec.access.in !== 'open' && !/^[1-9]\d{0,15}$/.test(account)) {
    faults.push(
      `${accountWord(typing)}: expected the number of an account, see \`accounts list\`, got ${quoted(account)}.`,
    )
  }
  // Rows are neither read from standard input nor written to standard output.
  const paths = typing.reads === 'body' ? ['report'] : [FILE_ARGUMENT, 'report']
  for (const name of paths) {
    if (text(name) === '-') faults.push(`${name === FILE_ARGUMENT ? '<file>' : '--report'}: ${EXPECTED_PATH}`)
  }
  if (faults.length > 0) throw new CliFailure(faults.join(' '), 2)
  takeOne(form, text, request)
  takeFormat(form, request)
  refuseNoChange(form, request)
  takeHeaders(spec, text('idempotencyKey'), request)
  return request
}

const accountWord = ({ account }: Typing): string => (account === 'first' ? `<${ACCOUNT_ARGUMENT}>` : '--account')

/** The names of the account in refusals. */
const ACCOUNT_NAMES = ['x-laneway-account', 'account']

function spellingOf({ inputs, typing }: Form): Record<string, string> {
  const account = ACCOUNT_NAMES.map((name) => [name, accountWord(typing)])
  const isArgument = ({ part, name }: Input): boolean =>
    part === 'params' || (part === 'body' && (typing.arguments?.includes(name) ?? false))
  const fields = inputs.map((input): [string, string] => {
    if (typing.setting !== undefined && input.part === 'body') return [input.name, '<value>']
    return [input.name, isArgument(input) ? `<${input.word}>` : flagOf(input)]
  })
  return Object.fromEntries([...account, ...fields])
}

/** Faults in the words of who typed them: each field by its option or argument. */
export function faultSentences(faults: readonly Fault[], spelled: Readonly<Record<string, string>>): string {
  const sentences = faults
    .slice(0, FAULTS_SHOWN)
    .map(({ path, message }) => ended(`${spelledPath(path, spelled)}: ${message}`))
  const more = faults.length - sentences.length
  return [...sentences, ...(more > 0 ? [`And ${more} more.`] : [])].join(' ')
}

/** Most that are shown: a file of another kind would fill the screen. */
const FAULTS_SHOWN = 10

function spelledPath(path: string, spelled: Readonly<Record<string, string>>): string {
  const whole = spelled[path]
  if (whole !== undefined) return whole
  const [head = ''] = path.split(/[.[]/)
  const known = spelled[head]
  return known === undefined ? path : known + path.slice(head.length)
}

/** Throws a CliFailure for what the schemas of the route refuse. */
export function refuseUnsound({ spec }: Address, request: TypedRequest): void {
  const { params, query, body } = spec
  const schemas = {
    ...{ params, query },
    body: body.as === 'json' && body.readBy === undefined ? body.schema : undefined,
  }
  const faults = (['params', 'query', 'body'] as const).flatMap((part) => {
    const schema = schemas[part]
    const error = schema?.safeParse(request[part]).error
    return schema && error ? faultsOf(error, request[part], '', fieldNamesOf(schema)) : []
  })
  if (faults.length > 0) throw new CliFailure(faultSentences(faults, request.spelled), 2)
}

interface At {
  nowMs: number
  zone: string
}

function zoneOf(typed: string | undefined): At {
  if (typed !== undefined && !isZone(typed)) {
    throw new CliFailure(`--zone: expected a zone such as Europe/Berlin, got ${quoted(typed)}.`, 2)
  }
  return { nowMs: Date.now(), zone: typed ?? new Intl.DateTimeFormat().resolvedOptions().timeZone }
}

function takeFlags({ typing: { flags = {} } }: Form, given: Given, request: TypedRequest, faults: string[]): void {
  for (const [word, { body, without }] of Object.entries(flags)) {
    if (given[attributeOf(word)] !== true) continue
    Object.assign(request.body, body)
    for (const other of without) {
      if (given[attributeOf(other)] !== undefined) faults.push(`--${other}: not with --${word}.`)
    }
  }
}

function takeInputs({ inputs, typing }: Form, given: Given, request: TypedRequest, faults: string[], at: At): void {
  for (const input of inputs) {
    const value = typing.setting && input.part === 'body' ? undefined : given[attributeOf(input.word)]
    if (value === undefined || value === false) continue
    const isAhead = typing.ahead?.includes(input.name) ?? false
    const text = String(value)
    if (typing.stdin === input.name && text === '-') {
      request.fromStdin = input.name
      continue
    }
    const own = typing.read?.[input.name]
    const name = typing.field?.(input.name, text) ?? input.name
    const read =
      input.kind === 'time'
        ? readMoment(text, at, isAhead)
        : own === undefined
          ? readTyped(input, text)
          : { value: own.value(text) }
    const spelled = request.spelled[input.name] ?? flagOf(input)
    if ('fault' in read) faults.push(`${spelled}: ${read.fault}.`)
    else if (name !== input.name && given[attributeOf(wordOf(name))] !== undefined) {
      faults.push(`${spelled}: not with --${wordOf(name)}.`)
    } else if (input.part === 'body') request.body[name] = read.value
    // As parts of a path they mean another one.
    else if (input.part === 'params' && /^\.{0,2}$/.test(String(read.value))) {
      faults.push(`${spelled}: expected what a list shows, got ${quoted(read.value)}.`)
    } else request[input.part][name] = String(read.value)
  }
}

/** One thing that is named is all that is asked about. */
function takeOne(
  { family, typing: { orOne } }: Form,
  text: (name: string) => string | undefined,
  request: TypedRequest,
): void {
  const named = orOne && text(orOne.word)
  if (orOne === undefined || named === undefined) return
  if (Object.keys(request.body).length > 0 || request.bodyFile !== undefined || request.detach) {
    throw new CliFailure('Give either a message id or filters, not both.', 2)
  }
  request.to = { family, spec: orOne.spec }
  request.params[orOne.word] = named
  request.spelled = { ...request.spelled, [orOne.word]: `<${orOne.word}>` }
}

function takeSetting(setting: Setting, { inputs }: Form, given: Given, request: TypedRequest, faults: string[]): void {
  const [name, value] = [String(given.setting), String(given.value)]
  const other = setting.others?.[name]
  if (other !== undefined) {
    Object.assign(request, other(value, request.params))
    return
  }
  const input = inputs.find((each) => isSetting(each, setting) && each.name === name)
  if (input === undefined) {
    faults.push(`<setting>: expected one of ${settingNames(inputs, setting).join(', ')}, got ${quoted(name)}.`)
    return
  }
  const isNull = input.mayBeNone && value === setting.forNull
  const read = isNull ? { value: null } : readTyped({ ...input, mayBeNone: false }, value)
  request.spelled = { ...request.spelled, [name]: name }
  if ('fault' in read) faults.push(`${name}: ${read.fault}.`)
  else request.body[name] = read.value
}

function refuseNoChange({ spec, inputs, typing }: Form, { to, body, bodyFile, fromStdin }: TypedRequest): void {
  const isWhole = [to, bodyFile, fromStdin].some((each) => each !== undefined)
  if (spec.method !== 'patch' || isWhole || Object.keys(body).length > 0) return
  const some = inputs.filter(({ part, name }) => part === 'body' && (typing.fields?.includes(name) ?? true)).slice(0, 3)
  throw new CliFailure(`Expected a change, such as ${some.map(flagOf).join(', ')}.`, 2)
}

/** The name of the file says its format, where the route has several. */
function takeFormat({ spec, typing }: Form, { output, query }: TypedRequest): void {
  const hasFormats = 'format' in (spec.query?.shape ?? {})
  const named = /\.(\w+)$/.exec(output ?? '')?.[1]
  if (typing.writes === 'file' && hasFormats && named !== undefined) query.format ??= named.toLowerCase()
}

function takeHeaders({ headers }: RouteSpec, idempotencyKey: string | undefined, request: TypedRequest): void {
  // Pages of other sites cannot send it, which is what the address asks it for.
  if (headers && 'X-Requested-With' in headers.shape) request.headers['X-Requested-With'] = 'XMLHttpRequest'
  if (idempotencyKey === undefined) return
  if (!/^[!-~]([ -~]*[!-~])?$/.test(idempotencyKey)) {
    throw new CliFailure(
      '--idempotency-key: expected what a header can hold: ASCII letters, digits and punctuation.',
      2,
    )
  }
  request.headers['Idempotency-Key'] = idempotencyKey
}

/** The address of a service, by the rules of LANEWAY_URL. */
function addressIn(typed: string | undefined): string | undefined {
  const { data, error } = webAddress.safeParse(typed)
  if (error === undefined) return data
  throw new CliFailure('--url: expected an address such as https://laneway.example, without a password, ? and #.', 2)
}

function readMoment(text: string, at: At, isAhead: boolean): { value: string } | { fault: string } {
  const ms = parseMoment(isAhead && parseDuration(text) !== undefined ? `+${text}` : text, at)
  if (ms !== undefined) return { value: iso(ms) }
  const spans = isAhead ? 'or 90d (ahead)' : 'yesterday, 24h (ago) or +24h'
  return {
    fault: `expected a time such as 2026-03-01T12:00:00Z, 2026-03-01T13:00, 2026-03-01, ${spans}, got ${quoted(text)}`,
  }
}
