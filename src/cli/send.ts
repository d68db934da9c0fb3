// messages send: one message of any kind, as POST /messages takes it.
import { z } from 'zod'
import { iso } from '../kernel/instant.ts'
import { LIMITS } from '../model/messages/limits.ts'
import { jsonPath, readJsonObject } from './files.ts'
import { laneQueues } from './session.ts'
import { accountId, instant, nameUpTo, senderName } from './values.ts'
import { type CommandContext, option, verb } from './verb.ts'

export const sendVerb = verb({
  usage: 'send',
  act: 'message.send',
  summary: 'send a text, or a message of any kind from a file with the JSON of POST /messages',
  example: '--account 1 --to +447700900123 --text "Your order is on its way."',
  values: {
    account: option(accountId, 'id', 'account that sends it'),
    to: option(z.string().optional(), 'number', 'recipient, in any spelling'),
    text: option(z.string().optional(), 'text', 'what it says'),
    sender: option(senderName.optional(), 'sender', 'its sender, by number or name; the default one if not given'),
    reference: option(nameUpTo(LIMITS.reference).optional(), 'text', 'a text of your own, such as an order number'),
    sendAt: option(instant.optional(), 'time', 'not before this time'),
    body: option(jsonPath.optional(), 'file', 'JSON of the message; `-` is standard input'),
    idempotencyKey: option(nameUpTo(255).optional(), 'key', 'a repeat with the same key sends nothing twice'),
  },
  check({ text, body }, wrong) {
    if ((text === undefined) === (body === undefined)) wrong('text', 'give either a text or a body')
  },
  async run({ account, idempotencyKey, ...typed }, context) {
    const { redis, config } = context
    // Loaded here, as no other verb of messages needs it.
    const { acceptMessage } = await import('../messages/accept/accept-message.ts')
    const { sendKindOf, withOnlyValues } = await import('../messages/accept/read-send.ts')
    const body = withOnlyValues(await bodyOf(typed, context))
    const queues = await laneQueues(context)
    const { id, warning } = await acceptMessage(
      { redis, config, queues },
      { account, kind: sendKindOf(body), keyedAs: 'message', body, unknownFields: 'refused', idempotencyKey },
    )
    const warned = warning === undefined ? '' : ' The person has not written within 24 hours: it may not arrive.'
    return {
      json: { id, warning: warning ?? null },
      text: `Queued ${id}; see \`messages show ${id}\`.${warned}`,
      acted: { account, target: id },
    }
  },
})

interface Typed {
  to?: string | undefined
  text?: string | undefined
  sender?: string | undefined
  reference?: string | undefined
  sendAt?: number | undefined
  body?: string | undefined
}

/** The body of the request; what is typed besides a file counts before what the file says. */
async function bodyOf(
  { to, text, sender, reference, sendAt, body }: Typed,
  { stdin }: CommandContext,
): Promise<Record<string, unknown>> {
  const inFile = body === undefined ? undefined : await readJsonObject(body, stdin)
  return {
    ...(inFile ?? { type: 'text', text: { body: text } }),
    ...(to !== undefined && { to }),
    ...(sender !== undefined && { sender }),
    ...(reference !== undefined && { reference }),
    ...(sendAt !== undefined && { send_at: iso(sendAt) }),
  }
}
