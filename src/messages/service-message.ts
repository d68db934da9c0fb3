// A service message as a client sends it: every kind but a template.
import { type ServiceContent, serviceContentSchema } from './content.ts'
import { type Address, addressOf, envelopeSchema, faultsOfBody, senderIn } from './envelope.ts'
import type { Fault } from './fault.ts'

export type ServiceMessage = Address & { content: ServiceContent }

/**
 * Reads the body of a service message, or reports all faults of its shape together. The sender comes with them where it is
 * readable: whether the account has it belongs into the same answer.
 */
export function parseServiceMessage(
  body: unknown,
): { ok: true; message: ServiceMessage } | { ok: false; faults: Fault[]; sender?: string } {
  const envelope = envelopeSchema.safeParse(body)
  const content = serviceContentSchema.safeParse(body)
  if (envelope.success && content.success) {
    return { ok: true, message: { content: content.data, ...addressOf(envelope.data) } }
  }
  return { ok: false, faults: faultsOfBody(body, envelope, content), ...senderIn(body) }
}
