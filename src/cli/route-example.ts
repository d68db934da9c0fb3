// An example of a route as a command line: the same values, typed.
import type { Example, RouteSpec } from '../producer/route.ts'
import { flagOf, type Input } from './inputs.ts'
import type { Typing } from './typed-request.ts'

/** How a verb types what the example has. */
interface Verb {
  spec: RouteSpec
  inputs: readonly Input[]
  typing: Typing
}

/** What a file with the whole body is called in examples. */
export const BODY_FILE = 'body.json'
/** The names of files that go up, by their content types. */
export const FILE_NAMES: Readonly<Record<string, string>> = {
  'text/csv': 'people.csv',
  'multipart/form-data': 'spring.png',
}

/**
 * The words after the verb: arguments, then options. A body with more than plain values, or one that the verb types in another way, is a
 * file. Undefined where the verb types only other fields.
 */
export function exampleLine({ spec, inputs, typing }: Verb, example: Example, account?: string): string | undefined {
  const { params = {}, query = {}, body = {}, headers: { 'Idempotency-Key': key } = {} } = example
  const given: Record<string, unknown> = { ...query, ...body }
  const named = (name: string) => inputs.find((input) => input.name === name)
  const fields = Object.entries(given).filter(
    ([name, value]) => !(name in (typing.body ?? {})) && (value !== false || named(name)?.kind !== 'flag'),
  )
  // The file of a form is an argument.
  const ofBody = fields.filter(([name]) => (named(name)?.part ?? (spec.body.as === 'stream' ? '' : 'body')) === 'body')
  const isTyped = ([name, value]: readonly [string, unknown]): boolean => {
    const input = named(name)
    return input !== undefined && input.kind !== 'json' && typing.read?.[name] === undefined && !isDeep(value)
  }
  const typable = typing.setting?.of ?? typing.fields
  if (ofBody.some(([name]) => typable?.includes(name) === false)) return undefined
  const [setting] = Object.entries(body)
  const isFile = ofBody.length > 0 && !typing.setting && (typing.typed !== undefined || !ofBody.every(isTyped))
  const words = [
    ...(typing.account === 'first' ? ['1'] : []),
    ...Object.values(params),
    ...(typing.arguments ?? []).flatMap((name) => (name in given && !isFile ? [textOf(given[name])] : [])),
    ...(typing.setting && setting ? [setting[0], textOf(setting[1])] : []),
    ...(typing.reads === 'body' ? [BODY_FILE] : []),
    ...(spec.body.as === 'stream' ? [FILE_NAMES[spec.body.contentTypes[0] ?? ''] ?? 'file'] : []),
    ...(typing.writes === 'file' ? [`answer.${query.format ?? 'csv'}`] : []),
  ]
  const options = fields.flatMap(([name, value]) => {
    const input = named(name)
    const isArgument = typing.arguments?.includes(name) ?? false
    // The name of the file says its format.
    const isSaid = typing.writes === 'file' && name === 'format'
    if (
      input === undefined ||
      isArgument ||
      isSaid ||
      (input.part === 'body' && (isFile || typing.setting || typing.reads))
    )
      return []
    return [input.kind === 'flag' ? flagOf(input) : `${flagOf(input)} ${inShell(typedText(input, value))}`]
  })
  return [
    ...words.map(inShell),
    ...(account === undefined ? [] : [`--account ${account}`]),
    ...(isFile && typing.reads === undefined ? [`--body ${BODY_FILE}`] : []),
    ...(key === undefined ? [] : [`--idempotency-key ${inShell(key)}`]),
    ...options,
  ].join(' ')
}

/** A list of plain values is typed with commas; anything deeper is not. */
const isDeep = (value: unknown): boolean =>
  Array.isArray(value) ? value.some((each) => typeof each === 'object') : typeof value === 'object' && value !== null

const typedText = ({ kind }: Input, value: unknown): string =>
  kind === 'seconds' ? `${String(value)}s` : kind === 'yes_or_no' ? (value === true ? 'yes' : 'no') : textOf(value)

const textOf = (value: unknown): string =>
  Array.isArray(value) ? value.join(',') : value === null ? 'none' : String(value)

/** A word of a command line: quoted where a shell would take it for several, or for something else. */
const inShell = (word: string): string => (/^[\w.,:/@+-]+$/.test(word) ? word : quotedInShell(word))

/** Any text as one word of a command line. */
export const quotedInShell = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
