// What a form or a list of the console knows of a route: the same inputs as those of its verb, as controls and columns. For
// scripts/console-forms.mjs, since the console itself has no schemas.
import type { RouteSpec } from '../producer/route.ts'
import { type Input, inputsOf, type Node, nodeOf } from './inputs.ts'

/** Controls by the kind of an input; a field of another kind has none. */
const CONTROLS = {
  ...{ text: 'text', number: 'number', seconds: 'number', time: 'time' },
  ...{ yes_or_no: 'check', flag: 'check', list: 'list', json: undefined },
} as const

/** The fields of the body of a route as controls of a form (packages/console/src/parts/form-fields.ts). */
export function controlsOf(spec: RouteSpec): Record<string, object> {
  const body = spec.body.as === 'json' ? nodeOf(spec.body.schema, 'input') : undefined
  const controls = inputsOf(spec).flatMap((input) => {
    const node = body?.properties?.[input.name]
    const kind = CONTROLS[input.kind]
    return input.part !== 'body' || node === undefined || kind === undefined
      ? []
      : [[input.name, controlOf(input, kind, node)] as const]
  })
  return Object.fromEntries(controls)
}

function controlOf({ name, kind: read, isRequired, mayBeNone, ofNumbers }: Input, kind: string, node: Node): object {
  const one = notNull(node)
  const isNumber = read === 'number'
  return {
    kind,
    label: titleOf(name, node),
    ...(node.description && { help: node.description }),
    ...(isRequired && { required: true }),
    ...(mayBeNone && { mayBeNull: true }),
    ...(ofNumbers && { ofNumbers }),
    ...(isNumber && one.minimum !== undefined && { min: String(one.minimum) }),
    ...(isNumber && one.maximum !== undefined && { max: String(one.maximum) }),
    ...(isNumber && { step: one.type === 'integer' ? '1' : 'any' }),
    ...(one.enum && { options: one.enum }),
  }
}

/** The fields of an entry of a list that fit a cell (packages/console/src/parts/resource.tsx). */
export function columnsOf({ answers }: RouteSpec): Record<string, object> {
  const answer = answers[200]
  const page = answer === undefined || 'contentTypes' in answer ? undefined : nodeOf(answer, 'output')
  const columns = Object.entries(page?.properties?.data?.items?.properties ?? {}).flatMap(([name, node]) => {
    const kind = listedKind(notNull(node))
    return kind === undefined ? [] : [[name, { title: titleOf(name, node), kind }] as const]
  })
  return Object.fromEntries(columns)
}

function listedKind({ type, format }: Node): string | undefined {
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'check'
  if (type !== 'string') return undefined
  return format === 'date-time' ? 'time' : 'text'
}

/** What it is where it is not null. */
const notNull = (node: Node): Node =>
  [node, ...(node.anyOf ?? [])].find(({ type }) => type !== undefined && type !== 'null') ?? node

/** What its schema calls it, or else its name. */
function titleOf(name: string, { title }: Node): string {
  const words = name.replaceAll('_', ' ')
  return title ?? words.charAt(0).toUpperCase() + words.slice(1)
}
