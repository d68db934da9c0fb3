// Values of a schema of the description: those that it takes, and those that somebody sends who means harm.
import fc from 'fast-check'
import type { Json } from './description.ts'

/** Texts that have broken programs: of control characters, of other languages, of the languages behind a service. */
const HOSTILE_TEXTS = [
  ...['', ' ', '\u0000', '\uFEFF', '\uD800', '\u202Eabc', 'ﷺ'.repeat(50), '👩‍👩‍👧‍👦'.repeat(30), '\r\nx-injected: 1'],
  ...[
    '__proto__',
    'constructor',
    'toString',
    '#{7*7}',
    '{{1}}',
    "' OR 1=1 --",
    '<script>alert(1)</script>',
    '../../../etc/passwd',
  ],
  ...[
    '%00',
    '%2e%2e%2f',
    '\\',
    'NaN',
    '1e400',
    '-0',
    '0x10',
    '9007199254740993',
    'null',
    'true',
    '[]',
    '{}',
    'a'.repeat(70_000),
  ],
  ...[
    'msg_1_01M7WMESZP60D32VY8E5FM00EP',
    'msg_9999_0',
    'cmp_1_1',
    'cmp_999999_1',
    'rq_01M7WMMBQHKTZHMT677YAAW3FV',
    'mv_x',
  ],
]

/** A value of any kind where another is expected. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e21, -1e21, 2 ** 53, 5e-324, [], {}, [[]], { length: 1 }),
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.jsonValue({ maxDepth: 3 }),
  fc.constant(nested(40)),
  fc.array(fc.integer(), { maxLength: 1_500, minLength: 900 }),
)

export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...HOSTILE_TEXTS),
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ maxLength: 40 }),
)

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)]
}

/** Fields whose rules a schema cannot say. */
const BY_NAME: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  to: fc.constantFrom('+44 7700 900123', '447700900124', '+1 (415) 555-0123', '+49 171 1234567'),
  sender: fc.constantFrom('447700900001', '447700900002', 'shop', 'cloud'),
  link: fc.constantFrom('https://shop.example/spring.png', 'http://a.example/ü?q=1#x'),
  message_id: fc.constantFrom('KNOWN:message', 'msg_1_01M7WMESZP60D32VY8E5FM00EP'),
}

/** Values that the schema takes. `resolve` finds what a reference means. */
export function valid(schema: Json, resolve: (schema: Json) => Json, name = '', depth = 0): fc.Arbitrary<unknown> {
  const named = BY_NAME[name]
  if (named) return named
  const { type, items, properties, required, ...rest } = resolve(schema)
  const inside = (each: unknown, field = ''): fc.Arbitrary<unknown> => valid(Object(each), resolve, field, depth + 1)
  const kinds = rest.oneOf ?? rest.anyOf
  if (Array.isArray(kinds)) return fc.oneof(...kinds.map((each) => inside(each)))
  if (rest.const !== undefined) return fc.constant(rest.const)
  if (Array.isArray(rest.enum)) return fc.constantFrom(...rest.enum)
  const [first] = [type].flat()
  const number = (key: string, otherwise: number): number => {
    const bound = rest[key]
    return typeof bound === 'number' ? bound : otherwise
  }
  switch (first) {
    case 'object': {
      const fields = Object.entries(Object(properties)).map(([field, each]) => [field, inside(each, field)] as const)
      const requiredKeys = Array.isArray(required) ? required.filter((key) => typeof key === 'string') : []
      return fc.record(Object.fromEntries(fields), { requiredKeys, noNullPrototype: true })
    }
    case 'array': {
      const minLength = number('minItems', 0)
      const maxLength = Math.min(number('maxItems', minLength + 3), minLength + (depth > 4 ? 1 : 3))
      return fc.array(inside(items), { minLength, maxLength })
    }
    case 'integer':
      return fc.oneof(
        fc.integer({ min: number('minimum', 1), max: Math.min(number('maximum', 8), 8) }),
        fc.integer({ min: number('minimum', 1), max: Math.min(number('maximum', 2 ** 31 - 1), 2 ** 31 - 1) }),
      )
    case 'number':
      return fc.double({ min: number('minimum', 0), max: number('maximum', 1_000), noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'string':
      return text(rest, number)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function text({ format, pattern }: Json, number: (key: string, otherwise: number) => number): fc.Arbitrary<string> {
  if (format === 'date-time') {
    return fc.integer({ min: 60, max: 29 * 86_400 }).map((ahead) => new Date(Date.now() + ahead * 1_000).toISOString())
  }
  if (typeof pattern === 'string') return fc.stringMatching(new RegExp(pattern))
  const maxLength = number('maxLength', 100)
  const minLength = number('minLength', 0)
  return fc.oneof(
    fc.string({ minLength, maxLength: Math.min(maxLength, 30) }),
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 20) }),
    fc.constant('x'.repeat(Math.min(maxLength, 5_000))),
  )
}

/** The value with one place of it changed, left out, doubled or joined by a stranger. */
export function mutated(value: unknown): fc.Arbitrary<unknown> {
  const places = placesIn(value)
  return fc
    .tuple(fc.constantFrom(...places), fc.constantFrom('replace', 'remove', 'add', 'repeat'), hostileValue, hostileText)
    .map(([place, how, other, name]) => changedAt(value, place, how, other, name.slice(0, 50)))
}

type Place = readonly (string | number)[]

function placesIn(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [
    at,
    ...Object.entries(value).flatMap(([key, each]) =>
      placesIn(each, [...at, Array.isArray(value) ? Number(key) : key]),
    ),
  ]
}

function changedAt(value: unknown, [key, ...rest]: Place, how: string, other: unknown, name: string): unknown {
  if (key === undefined) {
    if (how === 'add' && typeof value === 'object' && value !== null) {
      return Array.isArray(value) ? [...value, other] : { ...value, [name]: other }
    }
    return how === 'repeat' ? Array.from({ length: 25 }, () => value) : other
  }
  if (Array.isArray(value)) {
    return value.flatMap((each, place) =>
      place !== key ? [each] : how === 'remove' && rest.length === 0 ? [] : [changedAt(each, rest, how, other, name)],
    )
  }
  return Object.fromEntries(
    Object.entries(Object(value)).flatMap(([field, each]) =>
      field !== key
        ? [[field, each]]
        : how === 'remove' && rest.length === 0
          ? []
          : [[field, changedAt(each, rest, how, other, name)]],
    ),
  )
}
