// From the body of a send request to a checked message or WhatsApp's refusal. Like WhatsApp it names
// only the first fault: code 100 with the parameter in brackets where the shape is wrong, 131009 where a value is.

import type { z } from 'zod'
import { type ChatErrorCode, excerpt, isChatErrorCode, type Refusal } from './chat-errors.ts'
import type { CheckedMessage } from './message-schema.ts'
import { templateFault } from './template-check.ts'

/** Checks a parsed JSON body against the shape that an endpoint takes, then the components of a template. */
export function checkMessage<Message extends CheckedMessage>(
  schema: z.ZodType<Message>,
  body: Record<string, unknown>,
  wire: 'partner' | 'cloud',
): { message: Message } | { refusal: Refusal } {
  const parsed = schema.safeParse(body)
  if (!parsed.success) return { refusal: refusalOfIssue(parsed.error.issues[0], body) }
  const message = parsed.data
  const refusal = message.type === 'template' ? templateFault(message.template, wire) : null
  return refusal === null ? { message } : { refusal }
}

function refusalOfIssue(issue: z.core.$ZodIssue | undefined, body: unknown): Refusal {
  if (issue === undefined) return { code: 100 }
  const param = bracketed(issue.path)
  const value = valueAt(body, issue.path)
  if (issue.code === 'custom') return { code: codeOf(issue.params), details: `${param}: ${issue.message}` }
  if (issue.code === 'unrecognized_keys') {
    const where = param === '' ? '' : ` on param "${param}"`
    return { code: 100, details: `Unexpected key "${excerpt(issue.keys[0])}"${where}.` }
  }
  if (value === undefined) return { code: 100, details: `The parameter ${param} is required.` }
  switch (issue.code) {
    case 'invalid_type':
      return { code: 100, details: `Param ${param} must be of type ${issue.expected} - got ${kindOf(value)}.` }
    case 'invalid_value':
      return { code: 100, details: oneOf(param, issue.values, value) }
    case 'invalid_union':
      return { code: 100, details: oneOf(param, 'options' in issue ? issue.options : [], value) }
    case 'too_small':
      return { code: limitCode(issue.path), details: `${param}: Min ${measure(issue.origin)}: ${issue.minimum}` }
    case 'too_big':
      return { code: limitCode(issue.path), details: `${param}: Max ${measure(issue.origin)}: ${issue.maximum}` }
    default:
      return { code: 131009, details: `${param} is not valid` }
  }
}

/** WhatsApp answers a text that is too long, and anything at the top of the body, with 100 and not 131009. */
function limitCode(path: readonly PropertyKey[]): ChatErrorCode {
  return path.length === 1 || path[0] === 'text' ? 100 : 131009
}

function codeOf(params: Record<string, unknown> | undefined): ChatErrorCode {
  const code = params?.code
  return isChatErrorCode(code) ? code : 100
}

function oneOf(param: string, options: unknown, value: unknown): string {
  const names = Array.isArray(options) ? options.map((option) => String(option).toUpperCase()) : []
  return `Param ${param} must be one of {${names.join(', ')}} - got "${excerpt(value)}".`
}

/** `['interactive', 'body', 'text']` becomes `interactive['body']['text']`. */
function bracketed(path: readonly PropertyKey[]): string {
  const [head, ...rest] = path
  if (head === undefined) return ''
  return String(head) + rest.map((key) => (typeof key === 'number' ? `[${key}]` : `['${String(key)}']`)).join('')
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  let current = value
  for (const key of path) {
    if (typeof current !== 'object' || current === null) return undefined
    current = Reflect.get(current, key)
  }
  return current
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function measure(origin: string): string {
  return origin === 'string' ? 'length' : origin === 'number' ? 'value' : 'items'
}
