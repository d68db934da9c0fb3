// A verb of the command line that is a route of the table: its arguments and options are the fields of the route, and its answer is
// that of the route, whether it is asked in this process or over HTTP.
import type { FamilyId } from '../producer/api/table.ts'
import type { RouteSpec } from '../producer/route.ts'
import type { Asked, Door } from './doors.ts'
import type { Followed } from './follow.ts'
import { flagOf, type Input, inputsOf } from './inputs.ts'
import { exampleLine } from './route-example.ts'
import {
  ACCOUNT_ARGUMENT,
  type Address,
  FILE_ARGUMENT,
  REPORT_SUFFIX,
  settingNames,
  type TypedRequest,
  type Typing,
  typedRequest,
} from './typed-request.ts'
import type { ShownOption } from './verb.ts'
import { attributeOf, wordOf } from './words.ts'

type Given = Readonly<Record<string, unknown>>

/** Rows that were refused: all of them counted, and the lines of those that are known, without the header. */
export interface RefusedRows {
  count: number
  header: string
  lines: readonly string[]
}

/** What a verb says of itself besides its route. */
export interface Said extends Typing {
  /** `show`, where it is not the name of the route. */
  verb?: string
  /** It runs when the noun is used alone. */
  isDefault?: true
  /** What the help says, where it is not the sentence of the route. */
  summary?: string
  /** The field that takes several, separated by commas: the route is asked once for each. */
  each?: string
  /** The rest of a command line that works, after the verb, where it is not the first example of the route. */
  example?: string
  /** The fields of a list, in the order of its columns; else the first that fit. */
  columns?: readonly string[]
  /** The sentence for an empty list. */
  none?: string | undefined
  /** A verb of one account is asked for each in which it finds something, where an operator names none: what a person agrees to first. */
  across?: { sentence(accounts: readonly number[]): string; declined: string; otherwise: string; spared: string }
  /** The sentence for what brings nothing, where that depends on what was asked; undefined: the usual one. */
  hint?: (asked: Asked, door: Door) => Promise<string | undefined>
  /** A list that nobody typed a page of goes on to its end, or to so many entries. */
  pages?: 'all' | number
  /** The word for what is null in an answer: one for all fields, or each its own. */
  nullWord?: string | Readonly<Record<string, string>>
  /** Fields are shown by their names as they are typed. */
  asTyped?: true
  /** Fields of the answer that are for scripts alone. */
  hides?: readonly string[]
  /** The field of the answer with a secret, which is printed alone on the first line. */
  shownOnce?: string
  /** The field of the answer that is all that is printed, as for a file. */
  only?: string
  /** What is printed after the answer: the next step, or what does not fit a line. */
  after?: ((data: Readonly<Record<string, unknown>>) => string) | undefined
  /** What a person has to agree to first. False for a removal that nobody is asked about: it hurts nothing that cannot be made again. */
  asks?: false | Question
  /** The route of the same family and path that shows what it is done to, for who is asked, and its body; undefined: nothing is looked at. */
  about?: RouteSpec | ((body: Given) => { spec: RouteSpec; body: Record<string, unknown> } | undefined)
  /** What goes on in the background is followed to its end. */
  follows?: Followed
  /** The text of the answer, where it is more than a list or fields. */
  text?: (data: unknown) => string
  /** Of the file that went up how many rows were refused, and those that the answer has as CSV, for a file beside it or where --report says. */
  report?: (data: unknown) => RefusedRows
  /** Why the command ends with 1 although it has an answer, which is printed first; undefined when it does not. */
  fails?: (data: unknown) => string | undefined
  /** The text of a column that is not the value of its field. */
  cells?: Readonly<Record<string, (row: Readonly<Record<string, unknown>>) => string>>
}

/** What is asked before the route is, and what is said when a person refuses. */
export interface Question {
  /** Undefined when nobody need be asked. `shown`: what `about` shows. `isPerson`: a person is at a terminal, and not a script. */
  sentence(request: Pick<Asked, 'body' | 'params' | 'account'>, shown: Given, isPerson: boolean): string | undefined
  declined: string
  /** What a script may do instead. */
  otherwise?: (shown: Given) => string
  /** What `--yes` spares. */
  spared: string
}

export interface RouteVerb extends Said, Address {
  example: string
  /** The first example of the route as it is typed after the verb, where a service is asked with a key. */
  exampleWithKey: string | undefined
  usage: string
  summary: string
  options: readonly ShownOption[]
  /** The requests that stand for what was typed: one, or where a list is typed for a route that takes one, one for each. */
  prepare(typed: Readonly<Record<string, unknown>>): readonly TypedRequest[]
}

/** The verb of a route. `name` is that of the route in its family. */
export function routeVerb(family: FamilyId, name: string, spec: RouteSpec, said: Said): RouteVerb {
  const inputs = inputsOf(spec, said)
    .filter((input) => input.part !== 'body' || said.body === undefined)
    .map((input) => ({ ...input, placeholder: said.read?.[input.name]?.placeholder ?? input.placeholder }))
  const args = [
    ...inputs.filter(({ part }) => part === 'params'),
    ...(said.arguments ?? []).flatMap((field) =>
      inputs.filter((input) => input.part === 'body' && input.name === field),
    ),
  ]
  const isOption = ({ part, name }: Input): boolean =>
    part !== 'body' || (said.setting === undefined && (said.fields?.includes(name) ?? true))
  const options = inputs.filter((input) => !args.includes(input) && isOption(input))
  const words = [
    ...(said.account === 'first' ? [ACCOUNT_ARGUMENT] : []),
    ...args.map(({ word }) => word),
    ...(said.setting ? ['setting', 'value'] : []),
    ...(spec.body.as === 'stream' || said.writes === 'file' || said.reads === 'body' ? [FILE_ARGUMENT] : []),
  ]
  const lineOf = (account?: string): string | undefined =>
    exampleLine({ spec, inputs, typing: said }, spec.examples[0] ?? { status: 200 }, account)
  return {
    ...said,
    ...{ family, spec },
    usage: [
      said.verb ?? wordOf(name),
      ...words.map((word) => `<${word}>`),
      ...(said.orOne ? [`[${said.orOne.word}]`] : []),
    ].join(' '),
    summary: (said.summary ?? sentenceOf(spec.summary)) + settingsIn(inputs, said),
    example: said.example ?? lineOf(needsAccount(spec, said) ? '1' : undefined) ?? '',
    exampleWithKey: lineOf(),
    options: [
      ...options.map((input) => shown(input, said)),
      ...flagsOf(said),
      ...commonOptions(spec, [...args, ...options], said),
    ],
    prepare(given) {
      const form = { family, spec, inputs, typing: said }
      return partsOf(
        given,
        inputs.find(({ name }) => name === said.each),
      ).map((part) => typedRequest(form, part))
    },
  }
}

/** Whether an operator has to name the account that it is about. */
const needsAccount = ({ access }: RouteSpec, { across, account }: Said): boolean =>
  access.in !== 'open' && !('withoutAccount' in access) && across === undefined && account === undefined

/** What was typed, once for each word of the field that takes several. */
function partsOf(given: Given, each: Input | undefined): readonly Given[] {
  const name = each && attributeOf(each.word)
  const text = name === undefined ? undefined : given[name]
  if (name === undefined || typeof text !== 'string') return [given]
  return text.split(',').map((word) => ({ ...given, [name]: word.trim() }))
}

/** The settings of a verb that changes one by its name. */
const settingsIn = (inputs: readonly Input[], { setting }: Said): string =>
  setting === undefined ? '' : `: ${settingNames(inputs, setting).join(', ')}`

const flagsOf = ({ flags = {} }: Said): ShownOption[] =>
  Object.entries(flags).map(([word, { meaning }]) => option(`--${word}`, meaning))

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

const shown = (input: Input, { stdin }: Said): ShownOption => ({
  flags: input.placeholder === '' ? flagOf(input) : `${flagOf(input)} <${input.placeholder}>`,
  meaning: [
    input.meaning,
    input.mayBeNone && 'none for null',
    stdin === input.name && '- reads it from standard input, so that no shell history has it',
    input.isRequired && input.part === 'body' && 'required',
  ]
    .filter(Boolean)
    .join('; '),
  // With --body another place may have it, so the route decides.
  isRequired: input.isRequired && input.part === 'query',
})

const option = (flags: string, meaning: string): ShownOption => ({ flags, meaning, isRequired: false })

/** Options that follow from what the route is. */
function commonOptions(spec: RouteSpec, typed: readonly Input[], said: Said): ShownOption[] {
  const { access, body, method, headers, answers } = spec
  const { asks, across, account, setting, body: fixed, writes, reads, report, each, follows } = said
  const isKeyed = access.in !== 'open'
  const isNeeded = needsAccount(spec, said)
  const hasBody = body.as === 'json' && [setting, fixed, reads, each].every((said) => said === undefined)
  return [
    ...(isKeyed && account === undefined
      ? [option('--account <id>', `account that an operator acts for${isNeeded ? '; required with Redis' : ''}`)]
      : []),
    ...(hasBody ? [option('--body <file>', 'JSON of the whole body; `-` is standard input')] : []),
    ...(headers && 'Idempotency-Key' in headers.shape
      ? [option('--idempotency-key <key>', 'a repeat with the same key does nothing twice')]
      : []),
    ...(typed.some(({ kind }) => kind === 'time') ? [option('--zone <zone>', ZONE)] : []),
    ...(typeof asks === 'object' ? [option('--yes', `do not ask ${asks.spared}`)] : []),
    ...(across ? [option('--yes', `do not ask ${across.spared}`)] : []),
    ...(report === undefined
      ? []
      : [option('--report <file>', `where to write the refused rows (default: <file>${REPORT_SUFFIX})`)]),
    ...(follows?.isQueued === true ? [option('--detach', 'do not wait until it is done')] : []),
    ...(method === 'delete' && asks === undefined ? [option('--yes', 'do not ask first')] : []),
    ...(writes === undefined && Object.values(answers).some((answer) => 'contentTypes' in answer)
      ? [option('--output <file>', 'where it is written; standard output if not given')]
      : []),
    // Where a field has that word, LANEWAY_URL names the service.
    ...(typed.some(({ word }) => word === 'url')
      ? []
      : [option('--url <address>', 'ask the service at this address, with a key, instead of Redis')]),
    ...(isKeyed ? [option('--key-file <file>', 'file with the key for --url, instead of LANEWAY_KEY')] : []),
  ]
}

const ZONE = 'zone of times without one, such as Europe/Berlin; that of this machine if not given'
