// `npm run console:forms`: writes packages/console/src/state/forms.ts, what the forms of the console know of the bodies that they send, and
// its lists of what they show, from the table of routes. `-- --check` says whether it is out of date.
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { giveUp, prepareBuild, root, typed } from './prepare.mjs'

const { check } = typed({ check: { type: 'boolean' } })
prepareBuild()
const load = (path) => import(pathToFileURL(join(root, 'dist', path)).href)
const [{ FAMILIES }, { columnsOf, controlsOf }] = await Promise.all([
  load('producer/api/table.js'),
  load('cli/form-fields.js'),
])
const file = join(root, 'packages/console/src/state/forms.ts')
const pages = readdirSync(join(root, 'packages/console/src/pages'))
  .map((name) => readFileSync(join(root, 'packages/console/src/pages', name), 'utf8'))
  .join('\n')
const text = formatted(formsFile())
if (check && readFileSync(file, 'utf8') !== text)
  giveUp('packages/console/src/state/forms.ts is out of date: npm run console:forms')
if (!check) writeFileSync(file, text)

/** The text of the file. */
function formsFile() {
  // What no page asks for would only make the console larger.
  const resources = FAMILIES.filter(({ id }) => pages.includes(`family: '${id}'`))
  const isForm = ({ id }, name) =>
    resources.some((each) => each.id === id)
      ? name === 'create' || name === 'change'
      : pages.includes(`'${id}.${name}'`)
  const entries = FAMILIES.flatMap((family) =>
    Object.keys(family.routes)
      .filter((name) => isForm(family, name))
      .map((name) => `  '${family.id}.${name}': ${objects(controlsOf(family.routes[name]))},`),
  )
  const lists = resources.map(({ id, routes }) => `  ${id}: ${objects(columnsOf(routes.list))},`)
  return `// What forms know of the bodies that they send, and lists of what they show. Made by scripts/console-forms.mjs.
import type { FormField } from '../parts/form-fields.ts'
import type { ListedField } from '../parts/resource.tsx'

export const FORMS = {
${entries.join('\n')}
} as const satisfies Readonly<Record<string, Readonly<Record<string, FormField>>>>

export const COLUMNS = {
${lists.join('\n')}
} as const satisfies Readonly<Record<string, Readonly<Record<string, ListedField>>>>
`
}

/** As the formatter writes it. */
function formatted(source) {
  const biome = join(root, 'node_modules/@biomejs/biome/bin/biome')
  const { stdout, status } = spawnSync(process.execPath, [biome, 'format', `--stdin-file-path=${file}`], {
    input: source,
    encoding: 'utf8',
  })
  if (status !== 0) giveUp('The file that was made cannot be formatted.')
  return stdout
}

/** As source, a line for each. */
function objects(all) {
  return `{\n${Object.entries(all)
    .map(([name, each]) => `    ${name}: ${JSON.stringify(each)},\n`)
    .join('')}  }`
}
