// The first example of each operation in four tabs of docs/reference/http: curl, the client for TypeScript, the client for Python, the
// command line. All are made of one example of the route table.
import { argument, pythonCalls } from './python-names.mjs'

/** Between these comments the site shows blocks of code as tabs. */
const TABS = '<!-- tabs -->'
const TABS_END = '<!-- end of tabs -->'

/**
 * A function that gives the tabs of an operation by its method and documented path; an empty text where only browsers, WhatsApp or
 * Prometheus call it.
 */
export async function createSnippets(load, description) {
  const [{ FAMILIES, CALLED_BY_OTHERS }, { routeVerbs }, { BODY_FILE, FILE_NAMES, quotedInShell }, { operationId }] =
    await Promise.all([
      load('producer/api/table.js'),
      load('cli/program.js'),
      load('cli/route-example.js'),
      load('producer/operation-id.js'),
    ])
  const verbs = await routeVerbs()
  const pythonNames = pythonCalls(description, CALLED_BY_OTHERS)
  const all = new Map(
    FAMILIES.filter(({ id }) => !CALLED_BY_OTHERS.includes(id)).flatMap(({ id, routes }) =>
      Object.entries(routes).map(([name, spec]) => [
        `${spec.method.toUpperCase()} ${spec.path.replaceAll(/:(\w+)/g, '{$1}')}`,
        { spec, call: `${id}.${name}`, python: pythonNames.get(operationId(id, name)) },
      ]),
    ),
  )
  return (address) => {
    const found = all.get(address)
    const [example] = found?.spec.examples ?? []
    if (found === undefined || example === undefined) return ''
    const tabs = [
      ['sh', 'curl', curlOf(found.spec, example, FILE_NAMES, quotedInShell)],
      ['ts', 'TypeScript', typescriptOf(found, example, FILE_NAMES)],
      ['python', 'Python', found.python && pythonOf(found, example, FILE_NAMES)],
      ['sh', 'Command line', commandOf(verbs, found.spec, BODY_FILE)],
    ]
    const blocks = tabs.flatMap(([language, title, code]) =>
      code ? `\`\`\`${language} [${title}]\n${code}\n\`\`\`` : [],
    )
    return [TABS, ...blocks, TABS_END].join('\n\n')
  }
}

const isKeyInBody = ({ access }) => access.in === 'api_key'
const fileOf = ({ body }, names) => (body.as === 'stream' ? names[body.contentTypes[0]] : undefined)
const isForm = ({ body }) => body.as === 'stream' && body.contentTypes[0] === 'multipart/form-data'
/** The fields of a form but its file. */
const formFields = (body = {}) => Object.entries(body).filter(([name]) => name !== 'file')
/** Of headers those that a person gives; the others follow from the body. */
const headersOf = ({ headers = {} }) => Object.entries(headers).filter(([name]) => name !== 'Content-Type')

/** The key that makes a repeat the same request, where the example has one. */
const keyOf = ({ headers = {} }) => headers['Idempotency-Key']

function pathOf({ path }, { params = {}, query = {} }) {
  const target = path.replaceAll(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''))
  const search = new URLSearchParams(query).toString()
  return search === '' ? target : `${target}?${search}`
}

function curlOf(spec, example, names, single) {
  const method = spec.method.toUpperCase()
  const { body } = example
  const hasBody = spec.body.as === 'json' && (body !== undefined || isKeyInBody(spec))
  const file = fileOf(spec, names)
  const usual = hasBody || file !== undefined ? 'POST' : 'GET'
  const fields = formFields(body).map(([name, value]) => `  -F ${single(`${name}=${value}`)}`)
  return [
    `curl ${method === usual ? '' : `-X ${method} `}"$LANEWAY_URL${pathOf(spec, example)}"`,
    ...(spec.access.in === 'bearer' ? ['  -H "Authorization: Bearer $LANEWAY_KEY"'] : []),
    ...headersOf(example).map(([name, value]) => `  -H ${single(`${name}: ${value}`)}`),
    ...(hasBody ? [jsonOption(spec, body, single)] : []),
    ...(file === undefined ? [] : isForm(spec) ? [`  -F file=@${file}`, ...fields] : csvOptions(spec, file)),
  ].join(' \\\n')
}

const csvOptions = ({ body }, file) => [`  -H 'Content-Type: ${body.contentTypes[0]}'`, `  --data-binary @${file}`]

function jsonOption(spec, body, single) {
  const text = single(JSON.stringify(isKeyInBody(spec) ? { api_key: '$KEY', ...body } : (body ?? {}), null, 2))
  return `  --json ${text.replace('$KEY', `'"$LANEWAY_KEY"'`)}`
}

function typescriptOf({ spec, call }, example, names) {
  const { params = {}, query = {}, body } = example
  const file = fileOf(spec, names)
  const fields = Object.entries({ ...params, ...query }).map(([name, value]) => `${name}: ${literal(plain(value))}`)
  if (file !== undefined) {
    fields.push(isForm(spec) ? 'body: form' : `body: await readFile('${file}')`)
  } else if (body !== undefined) fields.push(`body: ${literal(body)}`)
  const key = keyOf(example)
  if (key !== undefined) fields.push(`idempotencyKey: ${literal(key)}`)
  const given =
    fields.length === 0 ? '' : fields.length === 1 ? `{ ${fields[0]} }` : `{\n${indented(fields.join(',\n'))},\n}`
  const form = isForm(spec)
    ? [
        'const form = new FormData()',
        ...formFields(body).map(([name, value]) => `form.append('${name}', ${literal(String(value))})`),
        `form.append('file', new Blob([await readFile('${file}')]), '${file}')`,
      ]
    : []
  return [...form, `await laneway.operations.${call}(${given})`].join('\n')
}

/** Numbers that travel as text are given as numbers. */
const plain = (value) => (/^(0|[1-9]\d{0,14})$/.test(value) ? Number(value) : value)

const indented = (text) =>
  text
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n')

const MOST_IN_A_LINE = 80

/** A value as the formatter of TypeScript writes it, short ones in one line. */
function literal(value) {
  if (typeof value === 'string')
    return `'${value.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\n', '\\n')}'`
  if (typeof value !== 'object' || value === null) return String(value)
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map(literal)
    : Object.entries(value).map(([name, each]) => `${/^[a-z_]\w*$/i.test(name) ? name : `'${name}'`}: ${literal(each)}`)
  const line = isList ? `[${parts.join(', ')}]` : parts.length === 0 ? '{}' : `{ ${parts.join(', ')} }`
  if (line.length <= MOST_IN_A_LINE && !line.includes('\n')) return line
  const [open, close] = isList ? '[]' : '{}'
  return `${open}\n${indented(parts.join(',\n'))},\n${close}`
}

function pythonOf({ spec, python }, example, names) {
  const { params = {}, query = {}, body } = example
  const file = fileOf(spec, names)
  const given = Object.values(params).map((value) => pythonic(plain(value)))
  if (file !== undefined) {
    given.push(`open("${file}", "rb").read()`)
    if (isForm(spec)) {
      given.push(`"${file}"`)
      for (const [name, value] of formFields(body)) given.push(`${argument(name)}=${pythonic(plain(value))}`)
    }
  } else if (body !== undefined && Object.keys(body).length > 0) given.push(pythonic(body))
  for (const [name, value] of Object.entries(query)) given.push(`${argument(name)}=${pythonic(typed(value))}`)
  const key = keyOf(example)
  if (key !== undefined) given.push(`idempotency_key=${pythonic(key)}`)
  const line = `laneway.${python}(${given.join(', ')})`
  return line.length <= MOST_IN_A_LINE + 20 || given.length < 2
    ? line
    : `laneway.${python}(\n${given
        .map(
          (each) =>
            `${each
              .split('\n')
              .map((part) => `    ${part}`)
              .join('\n')},`,
        )
        .join('\n')}\n)`
}

/** What a query has as text. */
const typed = (value) => (value === 'true' ? true : value === 'false' ? false : plain(value))

function pythonic(value) {
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (typeof value !== 'object') return JSON.stringify(value)
  const isList = Array.isArray(value)
  const parts = isList
    ? value.map(pythonic)
    : Object.entries(value).map(([name, each]) => `${JSON.stringify(name)}: ${pythonic(each)}`)
  const [open, close] = isList ? '[]' : '{}'
  const line = `${open}${parts.join(', ')}${close}`
  if (line.length <= MOST_IN_A_LINE && !line.includes('\n')) return line
  const inner = parts
    .map(
      (part) =>
        `${part
          .split('\n')
          .map((each) => `    ${each}`)
          .join('\n')},`,
    )
    .join('\n')
  return `${open}\n${inner}\n${close}`
}

/** The verb that types the whole route, with what `body.json` has where it names one. */
function commandOf(verbs, spec, bodyFile) {
  const [{ body }] = spec.examples
  const of = [...verbs].filter(([, verb]) => verb.spec === spec && verb.exampleWithKey !== undefined)
  const isSame = ([, each]) => JSON.stringify(each.body) === JSON.stringify(body)
  const [words, verb] = of.find(isSame) ?? of.find(([, each]) => each.body === undefined) ?? of[0] ?? []
  if (verb === undefined) return ''
  const line = `npm run cli -- ${words} ${verb.exampleWithKey}`.trimEnd()
  return line.includes(bodyFile) ? `cat > ${bodyFile} <<'EOF'\n${JSON.stringify(body, null, 2)}\nEOF\n${line}` : line
}
