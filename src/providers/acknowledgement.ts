// The acknowledgement of a message has the same shape on both wires.
import { z } from 'zod'
import type { CallEnd } from '../messages/outcome.ts'

/** Longer than any id seen (the chat product's have some 60 characters); it is kept on the record and in every poll. */
const ID_MAX = 512

const schema = z.object({ messages: z.array(z.object({ id: z.string().min(1).max(ID_MAX) })).min(1) })

/** A success that brings the provider's id of the message; undefined for every other answer. */
export function acceptedBy(status: number, body: unknown): Extract<CallEnd, { kind: 'accepted' }> | undefined {
  if (status < 200 || status >= 300) return undefined
  const providerId = idOfOne(body) ?? schema.safeParse(body).data?.messages[0]?.id
  return providerId === undefined ? undefined : { kind: 'accepted', providerId }
}

/**
 * The id in an answer about one message, which is what every send gets: the schema says the same of it, for a twentieth
 * of what a message costs. Undefined for anything else, which the schema then judges.
 */
function idOfOne(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null || !('messages' in body) || !Array.isArray(body.messages))
    return undefined
  const [message, ...others]: unknown[] = body.messages
  if (typeof message !== 'object' || message === null || !('id' in message) || others.length > 0) return undefined
  const { id } = message
  return typeof id === 'string' && id.length > 0 && id.length <= ID_MAX ? id : undefined
}
