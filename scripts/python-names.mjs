// How the client for Python calls families, operations and fields of the interface, for scripts/python-client.mjs, which makes it, and
// scripts/snippets.mjs, which shows it.

/** The operations by family: the name of an operation begins with that of its family, see operation-id.ts. */
export function operationsOf({ paths, tags }, callers) {
  const others = new RegExp(`^(dashboard|${callers.join('|')})[A-Z]`)
  // A stream without an end is nothing for a call.
  const isEndless = ({ responses }) => responses[200]?.content?.['text/event-stream'] !== undefined
  const isCalled = (operation) => !others.test(operation.operationId) && !isEndless(operation)
  const all = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      isCalled(operation) ? [{ path, method, ...operation }] : [],
    ),
  )
  return tags.flatMap(({ name, description }) => {
    const own = all.filter((each) => each.tags[0] === name)
    if (own.length === 0) return []
    const family = commonPrefix(own.map(({ operationId }) => operationId))
    return [{ family, about: description, operations: own }]
  })
}

/** What all names begin with, up to a capital letter: `messages` of `messagesList` and `messagesShow`. */
function commonPrefix(names) {
  const words = names.map((name) => name.match(/^[a-z]+|[A-Z][a-z0-9]*/g))
  const [first] = words
  const most = Math.min(...words.map(({ length }) => length - 1))
  let length = 0
  while (length < most && words.every((each) => each[length] === first[length])) length += 1
  return first.slice(0, Math.max(1, length)).join('')
}

const KEYWORDS = new Set(
  'False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield'.split(
    ' ',
  ),
)
export const snake = (name) =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`).replaceAll(/[^a-zA-Z0-9]+/g, '_')
export const isKeyword = (name) => KEYWORDS.has(name)
export const argument = (name) => (isKeyword(snake(name)) ? `${snake(name)}_` : snake(name))

/** The method of an operation in the class of its family. */
export const methodName = (family, operationId) =>
  argument(snake(operationId.slice(family.length)).replace(/^_/, '')) || 'call'

/** Of every operation its call, `messages.list`, by its name in the description. */
export const pythonCalls = (description, callers) =>
  new Map(
    operationsOf(description, callers).flatMap(({ family, operations }) =>
      operations.map(({ operationId }) => [operationId, `${snake(family)}.${methodName(family, operationId)}`]),
    ),
  )
