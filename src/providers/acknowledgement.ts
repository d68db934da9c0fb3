// The acknowledgement of a message has the same shape on both wires.
import { z } from 'zod'
import type { CallEnd } from '../messages/outcome.ts'

/** Longer than any id seen (the chat product's have some 60 characters); it is kept on the record and in every poll. */
const ID_MAX = 512

const schema = z.object({ messages: z.array(z.object({ id: z.string().min(1).max(ID_MAX) })).min(1) })

/** A success that brings the provider's id of the message; undefined for every other answer. */
export function acceptedBy(status: number, body: unknown): Extract<CallEnd, { kind: 'accepted' }> | undefined {
  if (status < 200 || status >= 300) return undefined
  const providerId = schema.safeParse(body).data?.messages[0]?.id
  return providerId === undefined ? undefined : { kind: 'accepted', providerId }
}
