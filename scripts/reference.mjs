// The parts of docs/ that are generated from the product: the settings from their schema, the command line from commander, what
// the route table has of each address, the simulator's numbers, and the ways through the files from a run. Each part is committed in its page, between two comments,
// so that the page reads without a build.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './prepare.mjs'
import { createSnippets } from './snippets.mjs'
import { waysFaults, waysText } from './ways.mjs'

const END = '<!-- end -->'
const WAYS_PAGE = 'docs/how-it-works/architecture.md'
const marker = (name) => `<!-- made: ${name} -->`

/** Writes the made parts into their pages and returns the pages that were out of date, with the lines that differ; `isDry` writes nothing. */
export async function writeReference({ isDry = false } = {}) {
  const load = (path) => import(new URL(`../dist/${path}`, import.meta.url).href)
  const [{ settings }, { createProgram }, { createDescription }, { BEHAVIOURS }, { ERRORS }, { ERROR_GUIDE }] =
    await Promise.all([
      load('kernel/config.js'),
      load('cli/program.js'),
      load('producer/openapi/document.js'),
      load('simulator/behaviours.js'),
      load('producer/error-codes.js'),
      load('producer/error-guide.js'),
    ])
  const program = await createProgram({ stdin: process.stdin, stdout: process.stdout, stderr: process.stderr })
  const made = new Map([
    ['docs/reference/settings.md', (page) => fill(page, 'settings', settingsTable(settings))],
    ['docs/reference/cli.md', (page) => fill(page, 'commands', commandsOf(program))],
    ['docs/guides/simulator.md', (page) => fill(page, 'numbers', numbersTable(BEHAVIOURS))],
    ['docs/reference/errors.md', (page) => fill(page, 'codes', errorsTable(ERRORS, ERROR_GUIDE))],
    [WAYS_PAGE, (page) => fill(page, 'ways', waysText(page))],
  ])
  const description = createDescription('0.0.0')
  const tabsOf = await createSnippets(load, description)
  for (const name of readdirSync(join(root, 'docs/reference/http'))) {
    made.set(`docs/reference/http/${name}`, (page) => fillOperations(page, description, tabsOf))
  }
  const changed = []
  for (const [path, renew] of made) {
    const old = readFileSync(join(root, path), 'utf8')
    const page = renew(old)
    if (page === old) continue
    const faults = path === WAYS_PAGE ? waysFaults(old) : []
    changed.push({ path, lines: [...faults, ...differing(old.split('\n'), page.split('\n'))] })
    if (!isDry) writeFileSync(join(root, path), page)
  }
  return changed
}

/** The lines that only one of them has, `-` those that go and `+` those that come; some of the first ones. */
function differing(old, page) {
  const only = (sign, some, others) => some.filter((line) => !others.includes(line)).map((line) => `${sign} ${line}`)
  return [...only('-', old, page), ...only('+', page, old)].slice(0, 20)
}

/** The page with the made part of this name renewed; a part that is not there yet is added at the end. */
function fill(page, name, content) {
  const part = `${marker(name)}\n\n${content.trim()}\n\n${END}`
  const from = page.indexOf(marker(name))
  if (from === -1) return `${page.trimEnd()}\n\n${part}\n`
  const to = page.indexOf(END, from)
  return page.slice(0, from) + part + page.slice(to + END.length)
}

/** Text of the product as Markdown: what would be read as an HTML element, outside of code, is not. */
const plain = (text) =>
  String(text)
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll('<', '&lt;')))
    .join('')

const cell = (text) => plain(text).replaceAll('|', '\\|').replaceAll('\n', ' ')

const tableOf = (head, rows) =>
  rows.length === 0
    ? ''
    : [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.map(cell).join(' | ')} |`).join('\n')

// Settings

/** Defaults are those of `.env.example`, which a test holds to the schema. */
function settingsTable(settings) {
  const example = readFileSync(join(root, '.env.example'), 'utf8')
  const defaults = new Map([...example.matchAll(/^([A-Z_]+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
  const rows = Object.entries(settings).map(([name, { description }]) => {
    const value = defaults.get(name) ?? ''
    return [`\`${name}\``, value === '' ? 'none' : `\`${value}\``, description]
  })
  return tableOf(['Variable', 'Default', 'Meaning'], rows)
}

// Errors

/** Each code with a sentence that it has said, so that one who got it finds it. */
function errorsTable(errors, guide) {
  const rows = Object.entries(errors).flatMap(([status, codes]) =>
    Object.entries(codes).map(([code, example]) => {
      const [when, act] = guide[status][code]
      return [status, `\`${code}\``, example.message ?? example, sentence(when), sentence(act)]
    }),
  )
  rows.push([
    ...['–', '`refused_before`', 'It was refused when the batch was first sent.'],
    ...['Only in the results of a batch that is sent again.', 'Send it with a new key once it is corrected.'],
  ])
  return tableOf(['Status', '`code`', 'Says, for example', 'When', 'What to do'], rows)
}

// Simulator

function numbersTable(behaviours) {
  const rows = behaviours.map(({ number, name, sentence }) => [spaced(number), `\`${name}\``, sentence])
  return tableOf(['Number', 'Name', 'What happens'], rows)
}

/** 15550100201 as people write it: +1 555 010 0201. */
const spaced = (digits) => digits.replace(/^(\d)(\d{3})(\d{3})(\d{4})$/, '+$1 $2 $3 $4')

// Command line

function commandsOf(program) {
  return shownIn(program)
    .map((noun) => {
      const parts = verbsOf(noun, noun.name())
      return `## ${noun.name()}\n\n${plain(sentence(capital(noun.description())))}\n\n${parts.join('\n\n')}`
    })
    .join('\n\n')
}

/** All commands below one, `events endpoints list` too; itself when it has none. */
function verbsOf(command, name) {
  const commands = shownIn(command)
  if (commands.length === 0) return [verbOf(command, name)]
  return commands.flatMap((each) => verbsOf(each, `${name} ${each.name()}`))
}

/** Options that the page explains once. */
const OF_ALL = ['--json', '--key-file', '--zone', '--idempotency-key']

const shownIn = (command) =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((each) => each.name() !== 'help')

function verbOf(verb, name) {
  const values = verb.registeredArguments.map((each) => {
    const word = each.variadic ? `${each.name()}...` : each.name()
    return each.required ? ` <${word}>` : ` [${word}]`
  })
  const isRemote = verb.options.some(({ flags }) => flags === '--key-file <file>')
  const options = verb.options
    .filter(({ hidden, long }) => !hidden && long !== '--help' && !OF_ALL.includes(long))
    // An address of another kind is of that verb alone.
    .filter(({ long, description }) => long !== '--url' || !description.startsWith('ask the service'))
    .map(({ flags, description }) => [`\`${flags}\``, description])
  return [
    `### ${name}`,
    `\`${name}${values.join('')}\`: ${plain(sentence(verb.description()))}${isRemote || name.startsWith('completion ') ? '' : ' Needs Redis.'}`,
    tableOf(['Option', 'Meaning'], options),
  ]
    .filter((part) => part !== '')
    .join('\n\n')
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1)

const sentence = (text) => {
  const whole = text.trim()
  return whole.endsWith('.') || whole === '' ? whole : `${whole}.`
}

// Addresses

/** A page of docs/reference/http with the table's part under each heading that is an address. */
function fillOperations(page, description, tabsOf) {
  const common = commonCodes(description)
  // Where an answer of each shape was shown first on this page.
  const shown = new Map(jsonBlocks(withoutMade(page)).map((value) => [shapeOf(value), 'above']))
  const sections = page.split(/^(?=## )/m).map((section) => {
    const [, method, path] = /^## ([A-Z]+) (\/\S*)\n/.exec(section) ?? []
    const operation = description.paths[path]?.[method?.toLowerCase()]
    if (operation === undefined) return section
    const address = `${method} ${path}`
    const byHand = withoutMade(section)
      .replace(/^## .*\n/, '')
      .trim()
    const content = operationOf(operation, { description, byHand, common, shown, address, tabs: tabsOf(address) })
    return `## ${address}\n\n${marker(address)}\n\n${content}\n\n${END}\n\n${byHand === '' ? '' : `${byHand}\n\n`}`
  })
  return `${sections.join('').trimEnd()}\n`
}

const withoutMade = (text) => text.replaceAll(/<!-- made: .*-->[\s\S]*?<!-- end -->\n*/g, '')

const jsonBlocks = (text) => Array.from(text.matchAll(/^```json\n([\s\S]*?)^```$/gm), ([, json]) => JSON.parse(json))

/** The names of all fields, without their values: two answers with the same are alike to a reader. */
function shapeOf(value) {
  if (Array.isArray(value)) return `[${value.length === 0 ? '' : shapeOf(value[0])}]`
  if (typeof value !== 'object' || value === null) return ''
  return `{${Object.keys(value)
    .sort()
    .map((key) => `${key}${shapeOf(value[key])}`)
    .join()}}`
}

/** The table's part on one address, without what the section has `byHand` already. */
function operationOf(operation, { description, byHand, common, shown, address, tabs }) {
  const resolve = (value) =>
    value?.$ref === undefined
      ? value
      : resolve(
          value.$ref
            .split('/')
            .slice(1)
            .reduce((at, key) => at[key], description),
        )
  const parameters = (operation.parameters ?? []).map(resolve).filter(({ name }) => !COMMON_HEADERS.has(name))
  const body = resolve(operation.requestBody)
  const json = body?.content['application/json']
  const answers = Object.entries(operation.responses).map(([status, answer]) => [status, resolve(answer)])
  const good = answers.filter(([status]) => Number(status) < 400)
  const hasFields = /^\| (?:Field|Query)/m.test(byHand)
  const hasJson = byHand.includes('```json')
  const answerOf = ([status, { content = {}, description: said = '' }]) =>
    Object.entries(content).map(([type, media]) => {
      if (type !== 'application/json') return `Answer ${status}: \`${type}\`. ${said}`
      if (hasJson) return ''
      const [example] = valuesOf(media, resolve)
      if (example === undefined) return ''
      const shape = shapeOf(example.value)
      const place = shown.get(shape)
      shown.set(shape, place ?? `under ${address}`)
      return place === undefined ? jsonOf(`Answer ${status}`, example) : `Answer ${status}: as ${place}.`
    })
  return [
    plain([sentence(operation.summary ?? ''), operation.description].filter(Boolean).join(' ')),
    hasFields ? '' : tableOf(['Parameter', 'In', 'Type', 'Required', 'Notes'], parameters.map(parameterRow)),
    body && `Body: ${plain(body.description)}`,
    json && !hasFields
      ? tableOf(['Field', 'Type', 'Required', 'Notes'], fieldRows(json.schema, resolve).slice(0, FIELDS_MAX))
      : '',
    tabs ||
      (json && !hasJson
        ? valuesOf(json, resolve)
            .slice(0, 1)
            .map((example) => jsonOf('Request', example))
            .join('')
        : ''),
    ...good.flatMap(answerOf),
    errorsOf(answers, common),
  ]
    .filter(Boolean)
    .join('\n\n')
}

const FIELDS_MAX = 40
/** Every address takes them; docs/reference/http/index.md has it once. */
const COMMON_HEADERS = new Set(['x-request-id', 'x-laneway-account', 'Idempotency-Key'])

function parameterRow({ name, in: place, required, schema = {}, description }) {
  return [`\`${name}\``, place, typeOf(schema), required ? 'yes' : 'no', notesOf({ description, ...schema })]
}

function fieldRows(schema, resolve, at = '', depth = 0) {
  const whole = resolve(schema)
  if (whole?.properties === undefined || depth > 3) return []
  return Object.entries(whole.properties).flatMap(([name, each]) => {
    const field = resolve(each)
    const path = `${at}${name}`
    const row = [`\`${path}\``, typeOf(field), whole.required?.includes(name) ? 'yes' : 'no', notesOf(field)]
    const inner =
      field.type === 'array' && field.items
        ? fieldRows(field.items, resolve, `${path}[].`, depth + 1)
        : fieldRows(field, resolve, `${path}.`, depth + 1)
    return [row, ...inner]
  })
}

const WORDS = { string: 'text', integer: 'whole number' }
const PLURALS = { text: 'texts', 'whole number': 'whole numbers', number: 'numbers', object: 'objects', time: 'times' }
const pluralOf = (type) => PLURALS[type] ?? type

function typeOf(schema) {
  if (schema.$ref) return schema.$ref.split('/').at(-1)
  const kinds = schema.oneOf ?? schema.anyOf
  if (kinds) return [...new Set(kinds.map(typeOf))].join(' or ')
  if (schema.const !== undefined) return `\`${JSON.stringify(schema.const)}\``
  if (schema.enum) return schema.enum.map((each) => `\`${JSON.stringify(each)}\``).join(' or ')
  if (schema.type === 'array')
    return schema.items && Object.keys(schema.items).length > 0 ? `list of ${pluralOf(typeOf(schema.items))}` : 'list'
  if (schema.format === 'date-time') return 'time'
  return [schema.type ?? 'any']
    .flat()
    .map((type) => WORDS[type] ?? type)
    .join(' or ')
}

function notesOf({ description = '', minLength, maxLength, minItems, maxItems, minimum, maximum, default: usual }) {
  return [
    description,
    range(minLength, maxLength, 'character'),
    range(minItems, maxItems, 'item'),
    range(minimum, maximum),
    usual === undefined ? '' : `\`${JSON.stringify(usual)}\` unless given`,
  ]
    .filter((part) => part !== '')
    .map((part) => capital(sentence(part)))
    .join(' ')
}

function range(low, high, noun) {
  if (low === undefined && high === undefined) return ''
  const unit = noun === undefined ? '' : ` ${(high ?? low) === 1 ? noun : `${noun}s`}`
  if (high === undefined) return `at least ${low}${unit}`
  return low === undefined ? `at most ${high}${unit}` : `${low} to ${high}${unit}`
}

const valuesOf = (media, resolve) =>
  media.example === undefined ? Object.values(media.examples ?? {}).map(resolve) : [{ value: media.example }]

const jsonOf = (title, { value }) => `${title}:\n\n\`\`\`json\n${JSON.stringify(value, null, 2)}\n\`\`\``

const codesOf = (answers) =>
  answers.flatMap(([status, answer]) => (answer['x-laneway-codes'] ?? []).map((code) => `${status} \`${code}\``))

function errorsOf(answers, common) {
  const own = codesOf(answers).filter((code) => !common.has(code))
  return own.length === 0 ? '' : `Errors of its own: ${own.join(', ')}.`
}

/** Those that more than half of all addresses may answer. */
function commonCodes(description) {
  const counts = new Map()
  const operations = Object.values(description.paths).flatMap((path) => Object.values(path))
  const resolve = (answer) => (answer.$ref ? description.components.responses[answer.$ref.split('/').at(-1)] : answer)
  for (const { responses } of operations) {
    const answers = Object.entries(responses).map(([status, answer]) => [status, resolve(answer)])
    for (const code of new Set(codesOf(answers))) counts.set(code, (counts.get(code) ?? 0) + 1)
  }
  return new Set([...counts].filter(([, count]) => count > operations.length / 2).map(([code]) => code))
}
