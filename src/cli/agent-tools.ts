// The tools of agents: the routes that are marked for them, and one that sends a test to numbers that a person has named. Nothing here
// knows the protocol, nor how a route is asked.
import { createHash, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { parseRecipient } from '../kernel/recipient.ts'
import { FAMILIES, type Family, type FamilyId } from '../producer/api/table.ts'
import { ApiError } from '../producer/errors.ts'
import { operationId } from '../producer/operation-id.ts'
import type { RouteSpec } from '../producer/route.ts'
import type { Asked, Came, Door } from './doors.ts'
import { CliFailure } from './failure.ts'
import { type Input, inputsOf } from './inputs.ts'
import type { Address } from './typed-request.ts'

/** A tool as the protocol lists it. */
export interface Tool {
  name: string
  description: string
  inputSchema: { type: 'object'; properties: Record<string, object>; required: string[] }
  annotations: { readOnlyHint: boolean; destructiveHint: boolean }
  /** The text of its answer. Rejects with what the agent may do about it. */
  call(given: Given): Promise<string>
}

type Given = Readonly<Record<string, unknown>>

/** How the tools reach routes, and for whom. */
interface Reach {
  door: Door
  account: string | undefined
}

/** Characters of an answer at most: a model reads no more at once. */
const ANSWER_MOST = 20_000
/** Entries of a page unless the agent asks for another number, and at most. */
const PAGE = 25
const PAGE_MOST = 100

/** All tools that are there for this door. Throws a CliFailure for a test number that is none. */
export function toolsOf(
  door: Door,
  options: { account: string | undefined; testNumbers: readonly string[] },
  families: readonly Family<FamilyId>[] = FAMILIES,
): Tool[] {
  const reach = { door, account: options.account }
  const marked = families.flatMap(({ id: family, routes }) =>
    Object.entries<RouteSpec>(routes).flatMap(([name, spec]) =>
      spec.mcp === undefined ? [] : [toolOf(operationId(family, name), { family, spec }, reach)],
    ),
  )
  const guarded = onlyOwnDrafts(marked)
  return options.testNumbers.length === 0 ? guarded : [...guarded, testTool(reach, options.testNumbers)]
}

function toolOf(name: string, to: Address, reach: Reach): Tool {
  const { spec } = to
  const inputs = inputsOf(spec)
  return {
    name,
    description: [spec.summary, spec.details].filter(Boolean).join(' '),
    inputSchema: {
      type: 'object',
      properties: Object.fromEntries(inputs.map((input) => [input.name, propertyOf(input)])),
      required: inputs.filter(({ isRequired }) => isRequired).map((input) => input.name),
    },
    annotations: { readOnlyHint: spec.mcp === 'read', destructiveHint: false },
    call: (given) => fitting(inputs, askedBy(inputs, given, reach.account), async (asked) => reach.door(to, asked)),
  }
}

const TYPES = {
  ...{ text: 'string', time: 'string', number: 'number', seconds: 'number' },
  ...{ flag: 'boolean', yes_or_no: 'boolean' },
} as const

function propertyOf({ name, kind, meaning, ofNumbers, mayBeNone }: Input): object {
  const type = kind === 'list' ? 'array' : kind === 'json' ? undefined : TYPES[kind]
  const description = name === 'limit' ? `How many to answer, ${PAGE} unless given, ${PAGE_MOST} at most` : meaning
  return {
    ...(type !== undefined && { type: mayBeNone ? [type, 'null'] : type }),
    ...(kind === 'list' && { items: { type: ofNumbers ? 'number' : 'string' } }),
    ...(description !== '' && { description }),
  }
}

/** What an agent gives, as a request. Unknown names are left to the route, which refuses them by name. */
function askedBy(inputs: readonly Input[], given: Given, account: string | undefined): Asked {
  const params: Record<string, string> = {}
  const query: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(given)) {
    const part = inputs.find((input) => input.name === name)?.part ?? 'body'
    // Models write null for what they leave out.
    if (part === 'body') body[name] = value
    else if (value !== null && value !== undefined) (part === 'params' ? params : query)[name] = String(value)
  }
  return { params, query, headers: {}, body, account }
}

/** The answer within what a model reads; a list by smaller pages until one fits. */
async function fitting(inputs: readonly Input[], asked: Asked, ask: (asked: Asked) => Promise<Came>): Promise<string> {
  const isPaged = inputs.some(({ name, part }) => name === 'limit' && part === 'query')
  const wanted = Number(asked.query.limit ?? PAGE)
  for (let limit = wanted > PAGE_MOST ? PAGE_MOST : wanted; ; limit = Math.floor(limit / 2)) {
    const query = isPaged ? { ...asked.query, limit: String(limit) } : asked.query
    const text = textOf(await ask({ ...asked, query }))
    if (text.length <= ANSWER_MOST) return text
    if (isPaged && limit > 1) continue
    return `The answer has ${text.length} characters; these are the first:\n${text.slice(0, ANSWER_MOST - 100)}`
  }
}

/** The JSON of an answer, after what its headers warn of. */
function textOf(came: Came): string {
  if ('bytes' in came) throw new Error('a tool is a route that answers in JSON')
  return [...came.warnings, JSON.stringify(came.json)].join('\n')
}

const stateSchema = z.object({ data: z.object({ id: z.string(), state: z.string() }) })

/**
 * Keeps the check of a campaign that a person has seen: another check would freeze other recipients for the start that they are about to
 * make. An agent checks what is still a draft, and what it has made itself.
 */
function onlyOwnDrafts(tools: readonly Tool[]): Tool[] {
  const tool = (name: string): Tool | undefined => tools.find((each) => each.name === name)
  const [show, own] = [tool('campaignsShow'), new Set<string>()]
  return tools.map((each) => {
    if (each.name === 'campaignsCreate') {
      return {
        ...each,
        async call(given) {
          const text = await each.call(given)
          const { data } = stateSchema.safeParse(jsonIn(text))
          if (data !== undefined) own.add(data.data.id)
          return text
        },
      }
    }
    if (each.name !== 'campaignsPreflight' || show === undefined) return each
    return {
      ...each,
      async call(given) {
        const { data } = stateSchema.safeParse(jsonIn(await show.call({ id: given.id })))
        if (data !== undefined && data.data.state !== 'draft' && !own.has(data.data.id)) {
          throw new CliFailure(`The campaign is ${data.data.state}: a person has it checked again.`)
        }
        return each.call(given)
      },
    }
  })
}

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text.slice(text.indexOf('{')))
  } catch {
    return undefined
  }
}

/** A list of messages has no recipient of its own. */
const testSchema = z.object({ message: z.record(z.string(), z.unknown()) })
/** Tests of one session: enough to try, and too few to harm a number. */
const TESTS_MOST = 20

/** Sends one message to a number that a person has named for it. */
function testTool({ door, account }: Reach, numbers: readonly string[]): Tool {
  const allowed = new Set(numbers.map(numberOf))
  const session = randomUUID()
  let sent = 0
  return {
    name: 'sendTest',
    description:
      `Sends one message to a test number: ${numbers.join(', ')}. \`message\` is what POST /messages takes: to, type, and what ` +
      'the type is named after, such as {"to": "…", "type": "text", "text": {"body": "…"}}. The same message is sent once.',
    inputSchema: { type: 'object', properties: { message: { type: 'object' } }, required: ['message'] },
    annotations: { readOnlyHint: false, destructiveHint: false },
    async call(given) {
      const { data } = testSchema.safeParse(given)
      const to = data && parseRecipient(data.message.to)
      if (data === undefined || !to?.ok || !allowed.has(to.digits) || 'messages' in data.message) {
        throw new CliFailure(`\`message\` is one message to one of ${numbers.join(', ')}; a person adds others.`)
      }
      if (sent >= TESTS_MOST) throw new CliFailure(`${TESTS_MOST} tests were sent: start again for more.`)
      sent += 1
      const { sending } = await import('../producer/api/sending/routes.ts')
      // A model that got no answer asks again: it must not send twice by that.
      const digest = createHash('sha256').update(JSON.stringify(data.message)).digest('base64url')
      const headers = { 'Idempotency-Key': `agent-${session}-${digest}` }
      const asked = { params: {}, query: {}, headers, body: data.message, account }
      return textOf(await door({ family: 'sending', spec: sending.message }, asked))
    },
  }
}

function numberOf(text: string): string {
  const phone = parseRecipient(text)
  if (phone.ok) return phone.digits
  throw new CliFailure(`LANEWAY_MCP_TEST_NUMBERS: ${phone.message}.`)
}

/** What an agent is told of a failure; undefined for one that nobody expected. */
export function refusalText(error: unknown): string | undefined {
  if (error instanceof ApiError) {
    const details = error.details.map(({ path, message }) => ` ${path}: ${message}.`).join('')
    return `${error.message} [${error.code}]${error.details.length > 1 ? details : ''}`
  }
  return error instanceof CliFailure ? error.message : undefined
}
