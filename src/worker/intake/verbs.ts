// What each job of the intake queue asks for, and which permission its key must have. To add one: its name and shape in
// src/jobs/intake.ts, its line here, its section in docs/jobs.md.
import { acceptMessage } from '../../accept/accept-message.ts'
import { doesNotExist } from '../../accept/refusal.ts'
import type { IntakeJob } from '../../jobs/intake.ts'
import { deliveryOf, findOwnMessage } from '../../lookup/own-message.ts'
import { campaignVerbs } from './campaigns.ts'
import { type IntakeVerb, keyOf, read } from './verb.ts'

export const intakeVerbs: { [J in IntakeJob]: IntakeVerb<J> } = {
  ...campaignVerbs,
  send: {
    permission: 'messages:send',
    async run(deps, job) {
      const { message, idempotency_key, traceparent } = read(job.contract.send, job.data)
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
