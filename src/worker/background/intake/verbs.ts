// What each job of the intake queue asks for, and which permission its key must have. To add one: its name and shape in
// src/jobs/intake.ts, its line here, its section in docs/reference/jobs.md.

import type { IntakeJob } from '../../../jobs/intake.ts'
import { acceptMessage } from '../../../messages/accept/accept-message.ts'
import { doesNotExist, Refusal } from '../../../messages/accept/refusal.ts'
import { deliveryOf, findOwnMessage } from '../../../messages/lookup/own-message.ts'
import { parsePerson } from '../../../people/person.ts'
import { campaignVerbs } from './campaigns.ts'
import { type CheckedJob, type IntakeVerb, keyOf, read, type VerbDeps } from './verb.ts'

/** The job was written before the person was erased. */
export const PERSON_ERASED = 'person_erased'

/**
 * A job that waited while the person was forgotten is not sent; one that is written later is. Whoever dies after asking
 * accepts the message again under its key, or not at all.
 */
async function refuseErased({ tombstones }: VerbDeps, { account, addedAtMs }: CheckedJob, to: unknown): Promise<void> {
  const person = typeof to === 'string' ? parsePerson(to) : undefined
  if (person === undefined || !(await tombstones.isAny(account, addedAtMs))) return
  if (!(await tombstones.erasedOf(account, [person], addedAtMs)).has(person)) return
  throw new Refusal('overtaken', PERSON_ERASED, 'The recipient was erased after the job was written.')
}

export const intakeVerbs: { [J in IntakeJob]: IntakeVerb<J> } = {
  ...campaignVerbs,
  send: {
    permission: 'messages:send',
    async run(deps, job) {
      const { message, idempotency_key, traceparent } = read(job.contract.send, job.data)
      await refuseErased(deps, job, message.to)
      const { id } = await acceptMessage(deps, {
        account: job.account,
        kind: message.type === 'template' ? 'template' : 'service',
        body: message,
        unknownFields: 'refused',
        idempotencyKey: idempotency_key || keyOf(job),
        traceparent,
      })
      return { message_id: id }
    },
  },
  status: {
    permission: 'messages:read',
    async run(deps, job) {
      const { message_id } = read(job.contract.status, job.data)
      const found = await findOwnMessage(deps.redis, job.account, message_id, Date.now(), deps.config)
      if (!found) throw doesNotExist('The message')
      return deliveryOf(found)
    },
  },
}
