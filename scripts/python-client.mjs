// Writes the types and the operations of packages/client-python from the description of the interface, which the build makes of the
// route table: `node scripts/python-client.mjs`. `-- --check` says whether they are out of date.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { prepareBuild, root, typed } from './prepare.mjs'
import { argument, isKeyword, methodName, operationsOf, snake } from './python-names.mjs'

/** The files of the package that are made, by name. */
function pythonClient(description, callers) {
  const types = createTypes(description.components)
  const families = operationsOf(description, callers).map((family) => familyOf(family, types))
  return { 'operations.py': operationsFile(families), 'types.py': types.file() }
}

const pascal = (name) =>
  name
    .split(/[^a-zA-Z0-9]+/)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')
const quoted = (text) => JSON.stringify(text)

/** A docstring, indented. */
function docstring(text, indent) {
  const lines = text.replaceAll('\\', '\\\\').replaceAll('"""', "'''").split('\n')
  const wrapped = lines.flatMap((line) => wrap(line, 110 - indent.length))
  if (wrapped.length === 1 && wrapped[0].length + indent.length < 110) return `${indent}"""${wrapped[0]}"""`
  return `${indent}"""${wrapped.map((line, i) => (i === 0 || line === '' ? line : indent + line)).join('\n')}\n${indent}"""`
}

function wrap(text, width) {
  const lines = ['']
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== '' && last.length + word.length + 1 > width) lines.push(word)
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`
  }
  return lines
}

/** The types of Python for the schemas of the description, each object a TypedDict under a name. */
function createTypes({ schemas }) {
  const made = new Map()

  function typeOf(schema, name) {
    if (schema === undefined || schema === true) return 't.Any'
    if (schema.$ref !== undefined) return defined(schema.$ref.split('/').at(-1))
    if (schema.const !== undefined) return literal([schema.const])
    if (schema.enum !== undefined) return literal(schema.enum)
    const choices = schema.anyOf ?? schema.oneOf
    if (choices !== undefined) {
      const several = choices.filter(({ type }) => type !== 'null').length > 1
      const parts = choices.map((each, i) => typeOf(each, several ? `${name}${i + 1}` : name))
      return [...new Set(parts)].join(' | ')
    }
    if (Array.isArray(schema.type)) {
      return [...new Set(schema.type.map((type) => typeOf({ ...schema, type }, name)))].join(' | ')
    }
    switch (schema.type) {
      case 'string':
        return 'str'
      case 'integer':
        return 'int'
      case 'number':
        return 'float'
      case 'boolean':
        return 'bool'
      case 'null':
        return 'None'
      case 'array':
        return `t.List[${typeOf(schema.items ?? schema.prefixItems?.[0], `${name}Item`)}]`
      case 'object':
        if (schema.properties !== undefined) return dictionary(name, schema)
        return `t.Dict[str, ${typeOf(schema.additionalProperties || undefined, `${name}Value`)}]`
      default:
        return 't.Any'
    }
  }

  const literal = (values) =>
    values.every((value) => value === null)
      ? 'None'
      : `t.Literal[${values.map((value) => (value === true ? 'True' : value === false ? 'False' : value === null ? 'None' : quoted(value))).join(', ')}]`

  function defined(name) {
    const id = pascal(name)
    if (!made.has(id)) {
      made.set(id, undefined)
      const schema = schemas[name]
      const text =
        schema.properties === undefined ? `${id}: t.TypeAlias = ${quotedType(typeOf(schema, id))}` : body(id, schema)
      made.set(id, text)
    }
    return id
  }

  /** An object without a name of its own. */
  function dictionary(name, schema) {
    let id = pascal(name)
    while (made.has(id) || pascal(id) in schemas) id += '_'
    made.set(id, undefined)
    made.set(id, body(id, schema))
    return id
  }

  // In quotes, because it may name a type that follows.
  const quotedType = (type) => quoted(type)

  function body(id, { properties, required = [], description }) {
    const fields = Object.entries(properties).map(([name, schema]) => {
      const type = typeOf(schema, `${id}${pascal(name)}`)
      return { name, type: required.includes(name) ? type : `t.NotRequired[${type}]`, about: schema.description }
    })
    const isPlain = fields.every(({ name }) => /^[a-zA-Z_]\w*$/.test(name) && !isKeyword(name))
    if (!isPlain || fields.length === 0) {
      const lines = fields.map(({ name, type }) => `        ${quoted(name)}: ${quotedType(type)},\n`)
      return `${id} = t.TypedDict(\n    ${quoted(id)},\n    {\n${lines.join('')}    },\n)`
    }
    const about = description === undefined ? '' : `${docstring(description, '    ')}\n\n`
    const lines = fields.map(({ name, type, about: field }) => {
      const comment =
        field === undefined
          ? ''
          : `${wrap(field.replaceAll('\n', ' '), 104)
              .map((line) => `    # ${line}\n`)
              .join('')}`
      return `${comment}    ${name}: ${type}\n`
    })
    return `class ${id}(t.TypedDict):\n${about}${lines.join('')}`.trimEnd()
  }

  return {
    typeOf,
    file: () =>
      `"""What goes to the interface and comes back, made from its description. Do not change it by hand."""\n\nfrom __future__ import annotations\n\nimport typing as t\n\n\n${[...made.values()].join('\n\n\n')}\n`,
  }
}

const JSON_TYPE = 'application/json'

/** The text of the class of a family. */
function familyOf({ family, about, operations }, types) {
  const methods = operations.map((operation) => methodsOf(family, operation, types))
  const name = pascal(family)
  const attribute = snake(family)
  const texts = methods.flatMap((each) => each.texts)
  return {
    attribute,
    name,
    text: `class ${name}(_Family):\n${docstring(about, '    ')}\n\n${texts.join('\n\n')}`,
    names: methods.map((each) => `    ${quoted(each.id)}: ${quoted(`${attribute}.${each.name}`)},`),
  }
}

function methodsOf(family, operation, types) {
  const {
    path,
    method,
    operationId,
    parameters = [],
    requestBody,
    responses,
    summary,
    description,
    security = [],
  } = operation
  const name = methodName(family, operationId)
  const own = parameters.filter(({ $ref }) => $ref === undefined)
  const pathParams = own.filter(({ in: where }) => where === 'path')
  const query = own.filter(({ in: where }) => where === 'query')
  const headers = own.filter(({ in: where, name: header }) => where === 'header' && header !== 'X-Requested-With')
  const isKeyed = headers.some(({ name: header }) => header === 'Idempotency-Key')
  const content = requestBody?.content ?? {}
  const [contentType] = Object.keys(content)
  const success = Object.entries(responses).filter(([status]) => Number(status) < 300)
  const answers = success.flatMap(([, answer]) => Object.entries(answer.content ?? {}))
  const streams = !answers.some(([type]) => type === JSON_TYPE)
  const qualified = (schema, hint) =>
    types
      .typeOf(schema, hint)
      .replaceAll(/\b(?<!t\.)(?<!")([A-Z]\w*)\b(?!")/g, (word) =>
        ['None', 'True', 'False'].includes(word) ? word : `types.${word}`,
      )
  const answerType = streams
    ? 'Download'
    : [...new Set(answers.map(([, { schema }]) => qualified(schema, `${pascal(operationId)}Answer`)))].join(' | ')

  const args = ['self']
  const values = []
  for (const { name: each, schema } of pathParams) args.push(`${argument(each)}: ${qualified(schema)}`)
  if (pathParams.length > 0) {
    values.push(`params={${pathParams.map(({ name: each }) => `${quoted(each)}: ${argument(each)}`).join(', ')}}`)
  }
  const isForm = contentType === 'multipart/form-data'
  if (contentType === JSON_TYPE) {
    const schema = content[JSON_TYPE].schema
    const type = qualified(schema, `${pascal(operationId)}Request`)
    const isEmpty = schema.$ref?.endsWith('/NoFields') === true
    if (!isEmpty) {
      args.push(requestBody.required ? `body: ${type}` : `body: ${type} | None = None`)
      values.push('body=body')
    }
  } else if (isForm) {
    args.push('file: bytes', 'file_name: str')
  } else if (contentType !== undefined) {
    args.push('data: Bytes')
    values.push('data=data')
  }
  const options = []
  const types_ = Object.keys(content)
  if (contentType !== undefined && contentType !== JSON_TYPE && !isForm) {
    options.push(`content_type: t.Literal[${types_.map(quoted).join(', ')}] = ${quoted(contentType)}`)
    values.push('content_type=content_type')
  }
  const fields = isForm
    ? Object.entries(content[contentType].schema.properties).filter(([field]) => field !== 'file')
    : []
  for (const [field, schema] of fields) options.push(`${argument(field)}: ${qualified(schema)}`)
  for (const { name: each, schema, required } of query) {
    options.push(`${argument(each)}: ${qualified(schema)}${required ? '' : ' | None = None'}`)
  }
  for (const { name: each } of headers) options.push(`${argument(each.toLowerCase())}: str | None = None`)
  if (query.length > 0) {
    values.push(`query={${query.map(({ name: each }) => `${quoted(each)}: ${argument(each)}`).join(', ')}}`)
  }
  const fixed = parameters.some(({ name: each }) => each === 'X-Requested-With')
    ? ['"X-Requested-With": "XMLHttpRequest"']
    : []
  const sent = [...headers.map(({ name: each }) => `${quoted(each)}: ${argument(each.toLowerCase())}`), ...fixed]
  if (sent.length > 0) values.push(`headers={${sent.join(', ')}}`)
  // The older interface has the key in the body.
  if (security.length === 0 && contentType === JSON_TYPE) values.push('key_in_body=True')
  if (isKeyed) values.push('keyed=True')
  if (streams) values.push('streams=True')

  const signature = (extra, result) =>
    `    def ${extra}(\n        ${[...args, ...(options.length > 0 ? ['*', ...options] : [])].join(',\n        ')},\n    ) -> ${result}:`
  const about = docstring(`${summary}${description ? `\n\n${description}` : ''}`, '        ')
  const prepare = isForm
    ? `        data, content_type = form_of({${fields.map(([field]) => `${quoted(field)}: ${argument(field)}`).join(', ')}}, file_name, file)\n`
    : ''
  if (isForm) values.push('data=data', 'content_type=content_type')
  const parts = [quoted(method.toUpperCase()), quoted(path), ...values]
  const inLine = `self._caller.call(${parts.join(', ')})`
  const call =
    inLine.length < 80 ? inLine : `self._caller.call(\n            ${parts.join(',\n            ')},\n        )`
  const one = `${signature(name, answerType)}\n${about}\n${prepare}        answer: ${answerType} = ${call}\n        return answer`
  const next = query.some(({ name: each }) => each === 'cursor') ? 'cursor' : undefined
  if (next === undefined) return { id: operationId, name, texts: [one] }
  const given = [
    ...pathParams.map(({ name: each }) => argument(each)),
    ...query.map(({ name: each }) => `${argument(each)}=${each === 'cursor' ? 'cursor' : argument(each)}`),
  ]
  const inPages = options.filter((option) => !option.startsWith('cursor:'))
  const pages =
    `    def ${name}_all(\n        ${[...args, ...(inPages.length > 0 ? ['*', ...inPages] : [])].join(',\n        ')},\n    ) -> t.Iterator[t.Any]:\n` +
    `${docstring(`The entries of all pages of \`\`${name}\`\`, asked for as they are read.`, '        ')}\n` +
    `        cursor: t.Any = None\n        while True:\n            page: t.Any = self.${name}(${given.join(', ')})\n            yield from page["data"]\n            cursor = page.get("next")\n            if cursor is None:\n                return`
  return { id: operationId, name, texts: [one, pages] }
}

function operationsFile(families) {
  const open = families.map(({ attribute, name }) => `        self.${attribute} = ${name}(caller)`).join('\n')
  return `"""The operations of the interface by family, made from its description. Do not change it by hand."""

from __future__ import annotations

import typing as t

from . import types
from ._call import Bytes, Caller, Download, form_of


class _Family:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller


${families.map(({ text }) => text).join('\n\n\n')}


class Operations:
    """All families, on one caller."""

    def __init__(self, caller: Caller) -> None:
${open}


# Where each operation is, by its name in the description.
OPERATIONS: t.Mapping[str, str] = {
${families.flatMap(({ names }) => names).join('\n')}
}
`
}

const { check } = typed({ check: { type: 'boolean' } })
prepareBuild()
const { CALLED_BY_OTHERS } = await import(pathToFileURL(join(root, 'dist/producer/api/table.js')).href)
const published = JSON.parse(readFileSync(join(root, 'dist/producer/openapi/published.json'), 'utf8'))
const stale = Object.entries(pythonClient(JSON.parse(published.document.text), CALLED_BY_OTHERS)).filter(
  ([name, text]) => {
    const path = join(root, 'packages/client-python/laneway', name)
    const isSame = (() => {
      try {
        return readFileSync(path, 'utf8') === text
      } catch {
        return false
      }
    })()
    if (!isSame && !check) {
      // Whole at any moment: somebody may be importing it.
      writeFileSync(`${path}.${process.pid}`, text)
      renameSync(`${path}.${process.pid}`, path)
    }
    return !isSame
  },
)
for (const [name] of stale) console.error(check ? `${name} is out of date` : `Renewed ${name}.`)
if (check && stale.length > 0) process.exit(1)
