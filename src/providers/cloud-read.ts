// Reports to WhatsApp that a received message was read, and if wanted that an answer is being typed, which the person sees for up to
// 25 s. Doing it again changes nothing.
import { type Agent, request } from 'undici'
import { z } from 'zod'
import type { CallEnd } from '../model/messages/outcome.ts'
import type { ProviderSender } from '../model/provider.ts'
import { causeOf, readText } from '../outbound/answers.ts'
import { createTargetAgent } from '../outbound/target-agent.ts'
import { anywhere } from '../outbound/target-rule.ts'
import { parseJson } from './answer-body.ts'
import { readRefusal } from './cloud-refusal.ts'

/** Requests that one process has open at a time. */
export const READS_AT_ONCE = 32
const ANSWER_BYTES = 64 * 1024
const LIMIT_MS = 10_000

const done = z.object({ success: z.literal(true) })

export type ReadReceipts = ReturnType<typeof createReadReceipts>

/** `version`: of the Graph API, as in `v25.0`. */
export function createReadReceipts(version: string, limitMs = LIMIT_MS) {
  const agent = createTargetAgent(anywhere, READS_AT_ONCE)
  return {
    /** Marks a message that the sender received. Never rejects; `done` once WhatsApp has taken it. */
    mark: (sender: ProviderSender, id: string, typing: boolean): Promise<{ kind: 'done' } | CallEnd> =>
      post(agent, `${sender.baseUrl}/${version}/${encodeURIComponent(sender.phoneNumberId)}/messages`, {
        ...{ token: sender.token, limitMs },
        body: {
          ...{ messaging_product: 'whatsapp', status: 'read', message_id: id },
          ...(typing && { typing_indicator: { type: 'text' } }),
        },
      }),
    close: (): Promise<void> => agent.destroy(),
  }
}

async function post(
  agent: Agent,
  url: string,
  { token, limitMs, body }: { token: string; limitMs: number; body: object },
): Promise<{ kind: 'done' } | CallEnd> {
  try {
    const answer = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'user-agent': 'laneway' },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(limitMs),
    })
    const said = parseJson(await readText(answer.body, ANSWER_BYTES))
    if (answer.statusCode === 200 && done.safeParse(said).success) return { kind: 'done' }
    return readRefusal(answer.statusCode, said, undefined)
  } catch (error) {
    return { kind: 'unanswered', cause: causeOf(error) }
  }
}
