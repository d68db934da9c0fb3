// Hands a request of a flow to the account's own server: one POST of plain JSON, signed as events are (Standard Webhooks). Never
// redirected, never repeated: WhatsApp asks again itself.
import { randomUUID } from 'node:crypto'
import { type Agent, request } from 'undici'
import type { FlowRequest } from '../../../flows/flow-request.ts'
import { withoutByteOrderMark } from '../../../kernel/byte-order-mark.ts'
import { causeOf, readText } from '../../../outbound/answers.ts'
import { signedHeaders } from '../../../outbound/signatures.ts'
import { createTargetAgent } from '../../../outbound/target-agent.ts'
import { createTargetRule } from '../../../outbound/target-rule.ts'

/** Requests that one process has open at a time. */
export const ASKED_AT_ONCE = 64
/** WhatsApp gives a flow some ten seconds in all. */
const LIMIT_MS = 8_000
/** Longest answer: a screen with pictures in it is some hundred KB. */
const ANSWER_BYTES = 1024 * 1024
/** The flow token is not valid any more: WhatsApp closes the flow and shows the `error_msg` of the answer. */
const TOKEN_OVER = 427

/** How the account's server answered: an object for the flow, or why there is none, in a word for the log. */
export type AccountAnswer = { status: 200 | 427; body: Record<string, unknown> } | { problem: string }

export type AskAccount = ReturnType<typeof createAskAccount>

/** `allowPrivate`: networks (CIDR) that servers of accounts may be in although they are private. */
export function createAskAccount(allowPrivate: readonly string[], limitMs = LIMIT_MS) {
  // The rule is checked at each connection, since a name may resolve to another address by then.
  const agent = createTargetAgent(createTargetRule(allowPrivate), ASKED_AT_ONCE)
  return {
    /** Never rejects. */
    ask: (target: { address: string; secrets: readonly string[] }, flow: string, asked: FlowRequest) =>
      post(agent, target, bodyOf(flow, asked), limitMs),
    close: (): Promise<void> => agent.destroy(),
  }
}

function bodyOf(flow: string, { flow_token_signature: _checked, ...asked }: FlowRequest): string {
  return JSON.stringify({ type: 'flow.request', timestamp: new Date().toISOString(), data: { flow, ...asked } })
}

async function post(
  agent: Agent,
  { address, secrets }: { address: string; secrets: readonly string[] },
  body: string,
  limitMs: number,
): Promise<AccountAnswer> {
  const id = `flw_${randomUUID()}`
  const seconds = Math.floor(Date.now() / 1_000)
  try {
    const answer = await request(address, {
      dispatcher: agent,
      method: 'POST',
      headers: signedHeaders(secrets, { id, seconds, body }),
      body,
      signal: AbortSignal.timeout(limitMs),
    })
    const { statusCode: status } = answer
    if (status !== 200 && status !== TOKEN_OVER) {
      answer.body.on('error', () => {}).destroy()
      return { problem: `http_${status}` }
    }
    return readAnswer(status, await readText(answer.body, ANSWER_BYTES))
  } catch (error) {
    return { problem: causeOf(error) }
  }
}

function readAnswer(status: 200 | 427, text: string): AccountAnswer {
  try {
    const value: unknown = JSON.parse(withoutByteOrderMark(text))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { status, body: { ...value } }
  } catch {
    // As any other answer that is no object.
  }
  return { problem: 'not_an_object' }
}
