// Has every function of dist/ say when it is entered: a hook of Node's loader. The rest of the code stays as it is, so that
// what is traced is the product itself.
import { readFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from '@babel/parser'

const DIST = fileURLToPath(new URL('../../dist/', import.meta.url))
/** What stands for WhatsApp, and what runs in a browser. */
const OTHERS = /^(?:simulator|demo|console)\//

let beginnings = []

/** Where work begins that no request brings: `file function`, as in trace.mjs. */
function initialize(given) {
  beginnings = given
}

async function load(url, context, next) {
  const file = url.startsWith('file:') ? relative(DIST, fileURLToPath(url)) : '..'
  if (file.startsWith('..') || !file.endsWith('.js') || OTHERS.test(file)) return next(url, context)
  const source = await readFile(new URL(url), 'utf8')
  return { format: 'module', source: withEntries(source, file.replace(/\.js$/, '.ts')), shortCircuit: true }
}

/** The code with a call at the beginning of every function. */
function withEntries(source, file) {
  const inserts = []
  for (const { body, end, id, async } of functionsIn(parse(source, { sourceType: 'module' }).program)) {
    const enter = `globalThis.entered(${JSON.stringify(file)})`
    if (body.type !== 'BlockStatement') {
      inserts.push({ at: body.extra?.parenStart ?? body.start, text: `(${enter}, ` }, { at: end, text: ')' })
    } else if (beginnings.includes(`${file} ${id?.name}`)) {
      const work = `${async ? 'async ' : ''}() =>`
      inserts.push({ at: body.start, text: `{ return globalThis.began(${JSON.stringify(file)}, ${work} {${enter};` })
      inserts.push({ at: body.end, text: '})}' })
    } else {
      inserts.push({ at: body.start + 1, text: `${enter};` })
    }
  }
  inserts.sort((a, b) => a.at - b.at)
  let code = ''
  let from = 0
  for (const { at, text } of inserts) {
    code += source.slice(from, at) + text
    from = at
  }
  return code + source.slice(from)
}

/** Every function of the program, those inside others too. */
function* functionsIn(node) {
  if (typeof node.body === 'object' && Array.isArray(node.params)) yield node
  for (const part of Object.values(node)) {
    for (const each of Array.isArray(part) ? part : [part]) {
      if (typeof each?.type === 'string') yield* functionsIn(each)
    }
  }
}

export { initialize, load }
