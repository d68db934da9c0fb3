// Part of `npm run check`: every function and class that a file of src, packages or simulator exports has a docstring
// right above it, and one that says more than the name does. Interfaces are held to the same; types that only give a
// schema or a union a name are not.
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from '@babel/parser'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const FOLDERS = ['src', 'packages/client/src', 'simulator']
const FUNCTIONS = ['ArrowFunctionExpression', 'FunctionExpression']
const DECLARATIONS = ['FunctionDeclaration', 'TSDeclareFunction', 'ClassDeclaration', 'TSInterfaceDeclaration']

/** The names that a declaration exports and that need a docstring. */
function namesOf(declaration) {
  if (DECLARATIONS.includes(declaration.type)) return [declaration.id.name]
  if (declaration.type !== 'VariableDeclaration') return []
  return declaration.declarations.filter(({ init }) => FUNCTIONS.includes(init?.type)).map(({ id }) => id.name)
}

/** The text of the docstring that ends right above `start`, or undefined. */
function docstringAbove(text, comments, start) {
  const above = comments.findLast(({ end }) => end <= start)
  if (above?.type !== 'CommentBlock' || !above.value.startsWith('*')) return undefined
  return text.slice(above.end, start).trim() === '' ? above.value : undefined
}

const wordsOf = (text) =>
  text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .match(/[a-z0-9]+/g) ?? []

/** What is left of a docstring without the words of the name: nothing but these is filler. */
const FILLER = new Set(['the', 'a', 'an', 'of', 'for', 'to', 'all', 'its', 's', 'is', 'and', 'gets', 'returns'])
const isFiller = (docstring, name) =>
  wordsOf(docstring).every((word) => FILLER.has(word) || wordsOf(name).some((own) => word.startsWith(own)))

/** `path:line name fault` of everything in the text of a file that lacks a docstring. */
function docstringFaults(path, text) {
  const { program, comments } = parse(text, {
    sourceType: 'module',
    plugins: path.endsWith('.tsx') ? ['typescript', 'jsx'] : ['typescript'],
  })
  const seen = new Set()
  return program.body.flatMap((statement) => {
    if (!statement.type.startsWith('Export') || !statement.declaration) return []
    const docstring = docstringAbove(text, comments, statement.start)
    const line = text.slice(0, statement.start).split('\n').length
    return namesOf(statement.declaration).flatMap((name) => {
      // Overloads share the docstring of the first.
      if (seen.has(name)) return []
      seen.add(name)
      if (docstring === undefined) return [`${path}:${line} ${name} has no docstring`]
      return isFiller(docstring, name) ? [`${path}:${line} ${name}: its docstring only repeats the name`] : []
    })
  })
}

const sourcesIn = (folder) =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))

// Named files are looked at instead of all.
const [, , ...named] = process.argv
const faults = (named.length > 0 ? named : FOLDERS.flatMap(sourcesIn).sort()).flatMap((path) =>
  docstringFaults(path, readFileSync(resolve(root, path), 'utf8')),
)
for (const fault of faults) console.error(fault)
if (faults.length > 0) console.error(`${faults.length} exports without a docstring that says what they promise`)
process.exit(faults.length === 0 ? 0 : 1)
