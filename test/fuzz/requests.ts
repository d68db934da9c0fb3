// Requests for an operation of the description: in order, changed in one place, and wrong from the ground up, each with
// one of all kinds of credentials.
import fc from 'fast-check'
import type { Description, Operation } from './description.ts'
import { hostileText, hostileValue, mutated, valid } from './values.ts'

const CREDENTIALS = ['right', 'none', 'wrong', 'expired', 'lacking', 'other'] as const
export type CredentialKind = (typeof CREDENTIALS)[number]

export interface FuzzRequest {
  operation: Operation
  method: string
  /** With `KNOWN` where an id belongs that the fuzzer has seen. */
  params: Readonly<Record<string, string>>
  query: string
  headers: Readonly<Record<string, string>>
  credential: CredentialKind
  /** A value goes as JSON with the key in it where it belongs; a text as it is. */
  body: { json: unknown } | { text: string; type: string | undefined } | undefined
}

/** All requests for the operation. */
export function requestsFor(operation: Operation, { resolve }: Description): fc.Arbitrary<FuzzRequest> {
  const { parameters } = operation
  const textOf = (schema: Parameters<typeof valid>[0]): fc.Arbitrary<string> => valid(schema, resolve).map(String)
  const params = parameters
    .filter((each) => each.in === 'path')
    .map(({ name, schema }) => {
      const value = fc.oneof({ weight: 6, arbitrary: fc.constant('KNOWN') }, textOf(schema), hostileText)
      return [name, value] as const
    })
  const query = parameters.filter((each) => each.in === 'query')
  const pairs = query.map(({ name, schema }) =>
    fc.tuple(fc.constant(name), fc.oneof({ weight: 4, arbitrary: textOf(schema) }, hostileText)),
  )
  const queries = fc.oneof(
    { weight: 3, arbitrary: fc.constant('') },
    ...(pairs.length > 0
      ? [{ weight: 4, arbitrary: fc.array(fc.oneof(...pairs), { maxLength: 3 }).map(asQuery) }]
      : []),
    fc.constantFrom('?', '?a=1', '?limit[]=1&limit[]=2', '?%', '?limit=1&limit=2', `?${'x'.repeat(3_000)}`),
  )
  return fc.record({
    operation: fc.constant(operation),
    method: fc.oneof(
      { weight: 30, arbitrary: fc.constant(operation.method) },
      fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'),
    ),
    params: fc.record(Object.fromEntries(params), { noNullPrototype: true }),
    query: queries,
    headers: headersFor(operation, resolve),
    credential: fc.oneof({ weight: 10, arbitrary: fc.constant('right' as const) }, fc.constantFrom(...CREDENTIALS)),
    body: bodiesFor(operation, resolve),
  })
}

const asQuery = (pairs: readonly [string, string][]): string =>
  `?${new URLSearchParams(pairs.map(([name, text]): [string, string] => [name, text.slice(0, 500)]))}`

/** What fits in a header line. */
const headerText = hostileText.map((value) => value.replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '').slice(0, 2_000))

/** Headers of which any value but one ends a request before it has begun; the account is the first of the demo. */
const MEANT: Readonly<Record<string, string>> = { 'X-Requested-With': 'XMLHttpRequest', 'x-laneway-account': '1' }

function headersFor({ parameters }: Operation, resolve: Description['resolve']): fc.Arbitrary<Record<string, string>> {
  const named = parameters.filter((each) => each.in === 'header')
  const own = named.map(({ name, schema, required }) => {
    const inOrder = name in MEANT ? fc.constant(MEANT[name] ?? '') : valid(schema, resolve).map(String)
    const clean = inOrder.map((value) => value.replaceAll(/[^\x20-\x7e]/g, ''))
    return [name, fc.oneof({ weight: required || name in MEANT ? 12 : 3, arbitrary: clean }, headerText)] as const
  })
  const required = named.filter((each) => each.required).map(({ name }) => name)
  const strange = fc.constantFrom<Record<string, string>>(
    ...[{}, {}, {}, {}, {}, {}, {}, {}],
    ...[{ 'content-encoding': 'gzip' }, { range: 'bytes=5-2' }, { range: 'bytes=0-1' }, { 'if-none-match': '*' }],
    ...[{ expect: 'x' }, { accept: 'text/html' }, { 'x-http-method-override': 'DELETE' }, { host: 'a"b' }],
    Object.fromEntries(Array.from({ length: 110 }, (_, place) => [`x-many-${place}`, '1'])),
  )
  return fc
    .tuple(fc.record(Object.fromEntries(own), { requiredKeys: required, noNullPrototype: true }), strange)
    .map(([headers, more]) => ({ ...headers, ...more }))
}

function bodiesFor({ body }: Operation, resolve: Description['resolve']): fc.Arbitrary<FuzzRequest['body']> {
  const [type, media] = Object.entries(body)[0] ?? []
  const none = fc.constant(undefined)
  const texts = hostileBodies(type)
  if (type === undefined || media === undefined) return fc.oneof({ weight: 8, arbitrary: none }, texts)
  if (type !== 'application/json') {
    const sample = media.examples.filter((each) => typeof each === 'string')
    const inOrder = type.startsWith('multipart/')
      ? forms
      : fc.constantFrom(...sample, 'phone,name\n', '"', 'a,a\n1,2\n')
    return fc.oneof(
      { weight: 8, arbitrary: inOrder.map((text) => ({ text, type: type.startsWith('multipart/') ? FORM : type })) },
      texts,
    )
  }
  const made = valid(media.schema ?? {}, resolve)
  const shown = media.examples.length > 0 ? fc.constantFrom(...media.examples) : made
  const json = fc.oneof(
    { weight: 4, arbitrary: shown },
    { weight: 3, arbitrary: made },
    { weight: 4, arbitrary: shown.chain(mutated) },
    { weight: 2, arbitrary: made.chain(mutated) },
    { weight: 1, arbitrary: hostileValue },
  )
  return fc.oneof({ weight: 16, arbitrary: json.map((value) => ({ json: value })) }, none, {
    weight: 3,
    arbitrary: texts,
  })
}

const FORM = 'multipart/form-data; boundary=b'
const part = (head: string, content: string): string =>
  `--b\r\nContent-Disposition: form-data; ${head}\r\n\r\n${content}\r\n`
const forms = fc.constantFrom(
  `${part('name="folder_id"', '1')}${part('name="file"; filename="a.txt"', 'A text.')}--b--\r\n`,
  `${part('name="file"; filename="a.txt"', 'A text.')}${part('name="folder_id"', '1')}--b--\r\n`,
  `${part('name="folder_id"', '999999')}${part('name="file"; filename="a.txt"', 'A text.')}--b--\r\n`,
  `${part('name="folder_id"', 'x')}${part('name="file"; filename="../a"', '')}--b--\r\n`,
  `${part('name="folder_id"', '1')}--b--\r\n`,
  `${part('name="file"; filename="a.txt"', 'A text.').repeat(3)}--b--\r\n`,
  `${part('name="x"', 'y').repeat(60)}--b--\r\n`,
  part('name="folder_id"', '1'),
  '--b--\r\n',
  '',
)

function hostileBodies(type: string | undefined): fc.Arbitrary<FuzzRequest['body']> {
  const types = fc.constantFrom(
    ...[type, 'application/json', 'application/json', 'application/json; charset=utf-7', 'text/plain', undefined],
    ...['application/json;', 'APPLICATION/JSON; charset=utf-8', 'multipart/form-data', 'x', 'application/xml'],
  )
  const texts = fc.oneof(
    fc.constantFrom(
      '',
      '{',
      '}',
      'null',
      '[]',
      '"a"',
      '1',
      '{"a":1}}',
      '\uFEFF{}',
      '{"a":1,"a":2}',
      '{"__proto__":{"x":1}}',
    ),
    fc.constantFrom(
      `${'['.repeat(40)}${']'.repeat(40)}`,
      `[${'{},'.repeat(11_000)}{}]`,
      `{"a":"${'x'.repeat(270_000)}"}`,
    ),
    fc.constant(`{${Array.from({ length: 1_100 }, (_, place) => `"k${place}":1`).join(',')}}`),
    fc.string({ unit: 'binary', maxLength: 200 }),
  )
  return fc.record({ text: texts, type: types })
}
