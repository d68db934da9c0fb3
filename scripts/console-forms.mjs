// `npm run console:forms`: writes packages/console/src/state/forms.ts, what the forms of the console know of the bodies that they send,
// from the table of routes. `-- --check` says whether it is out of date.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { giveUp, prepareBuild, root, typed } from './prepare.mjs'

/** Operations whose forms are made from the table, by family. */
const OPERATIONS = {
  accounts: ['create'],
  portfolios: ['create', 'change'],
  contactBook: ['create', 'change'],
}

/** Kinds of fields that a form has a control for. */
const KINDS = {
  text: 'text',
  number: 'number',
  seconds: 'number',
  time: 'time',
  yes_or_no: 'check',
  flag: 'check',
  list: 'list',
}

const { check } = typed({ check: { type: 'boolean' } })
prepareBuild()
const load = (path) => import(pathToFileURL(join(root, 'dist', path)).href)
const [{ FAMILIES }, { inputsOf, nodeOf }] = await Promise.all([load('producer/api/table.js'), load('cli/inputs.js')])
const file = join(root, 'packages/console/src/state/forms.ts')
const text = formsFile()
if (check && readFileSync(file, 'utf8') !== text)
  giveUp('packages/console/src/state/forms.ts is out of date: npm run console:forms')
if (!check) writeFileSync(file, text)

/** The text of the file. */
function formsFile() {
  const entries = Object.entries(OPERATIONS).flatMap(([id, names]) => {
    const { routes } = FAMILIES.find((family) => family.id === id)
    return names.map((name) => `  '${id}.${name}': {\n${fieldsOf(routes[name]).join('\n')}\n  },`)
  })
  return `// What forms know of the bodies that they send. Made by scripts/console-forms.mjs.
import type { FormField } from '../parts/form-fields.ts'

export const FORMS = {
${entries.join('\n')}
} as const satisfies Readonly<Record<string, Readonly<Record<string, FormField>>>>
`
}

function fieldsOf(spec) {
  const { properties } = nodeOf(spec.body.schema, 'input')
  return inputsOf(spec)
    .filter(({ part, kind }) => part === 'body' && KINDS[kind] !== undefined)
    .map((input) => `    ${input.name}: ${object(fieldOf(input, properties[input.name]))},`)
}

function fieldOf({ name, kind, isRequired, mayBeNone, ofNumbers }, node) {
  const one = [node, ...(node.anyOf ?? [])].find(({ type }) => type !== undefined && type !== 'null') ?? node
  const words = name.replaceAll('_', ' ')
  return {
    kind: KINDS[kind],
    label: node.title ?? words.charAt(0).toUpperCase() + words.slice(1),
    ...(node.description && { help: node.description }),
    ...(isRequired && { required: true }),
    ...(mayBeNone && { mayBeNull: true }),
    ...(ofNumbers && { ofNumbers }),
    ...(kind === 'number' && one.minimum !== undefined && { min: String(one.minimum) }),
    ...(kind === 'number' && one.maximum !== undefined && { max: String(one.maximum) }),
    ...(kind === 'number' && { step: one.type === 'integer' ? '1' : 'any' }),
    ...(one.enum && { options: one.enum }),
  }
}

/** As source; the formatter breaks long lines. */
function object(value) {
  const fields = Object.entries(value).map(([key, each]) => `${key}: ${JSON.stringify(each)}`)
  return `{ ${fields.join(', ')} }`
}
