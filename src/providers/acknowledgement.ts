// The acknowledgement of a message has the same shape on both wires.
import { z } from 'zod'
import type { CallEnd } from '../messages/outcome.ts'

const schema = z.object({ messages: z.array(z.object({ id: z.string().min(1) })).min(1) })

/** A success that brings the provider's id of the message; undefined for every other answer. */
export function acceptedBy(status: number, body: unknown): Extract<CallEnd, { kind: 'accepted' }> | undefined {
  if (status < 200 || status >= 300) return undefined
  const providerId = schema.safeParse(body).data?.messages[0]?.id
  return providerId === undefined ? undefined : { kind: 'accepted', providerId }
}
