// What each job of the intake queue asks for, and which permission its key must have. To add one: its name and shape in
// src/jobs/intake.ts, its line here, its section in docs/jobs.md.
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import { type AcceptDeps, acceptMessage } from '../accept/accept-message.ts'
import { doesNotExist, invalidFields } from '../accept/refusal.ts'
import type { IntakeContract, IntakeJob, intakeAnswers } from '../jobs/intake.ts'
import { faultsOf } from '../messages/fault.ts'
import type { Permission } from '../store/credentials.ts'
import { deliveryOf, findOwnMessage } from '../store/own-message.ts'

/** A job whose key was found good. */
export interface CheckedJob {
  id: string
  /** When it was added (epoch ms); does not change when it is run again. */
  addedAtMs: number
  account: number
  data: object
  contract: IntakeContract
}

interface IntakeVerb<A> {
  permission: Permission
  /** Does it and resolves to the answer, or throws a Refusal. Doing it twice does it once. */
  run: (deps: AcceptDeps, job: CheckedJob) => Promise<A>
}

export const intakeVerbs: { [J in IntakeJob]: IntakeVerb<z.infer<(typeof intakeAnswers)[J]>> } = {
  send: {
    permission: 'messages:send',
    async run(deps, job) {
      const { message, idempotency_key } = read(job.contract.send, job.data)
      const { messages } = await acceptMessage(deps, {
        account: job.account,
        kind: message.type === 'template' ? 'template' : 'service',
        body: message,
        idempotencyKey: idempotency_key || keyOf(job),
      })
      const [accepted] = messages
      if (!accepted) throw new Error('an acknowledgement without a message')
      return { message_id: accepted.id }
    },
  },
  status: {
    permission: 'messages:read',
    async run(deps, job) {
      const { message_id } = read(job.contract.status, job.data)
      const found = await findOwnMessage(deps.redis, job.account, message_id, Date.now())
      if (!found) throw doesNotExist('The message')
      return deliveryOf(found)
    },
  },
}

/** What the schema makes of a job's data, or a Refusal with all its faults. */
function read<S extends z.ZodType>(schema: S, data: object): z.output<S> {
  const parsed = schema.safeParse(data)
  if (!parsed.success) throw invalidFields(faultsOf(parsed.error, data))
  return parsed.data
}

/**
 * The idempotency key of a job that brought none: a job that is run twice, as after a crash, makes one message. The
 * time it was added belongs to it, because BullMQ counts its job ids from 1 again when a queue was emptied for good.
 */
const keyOf = (job: CheckedJob): string =>
  `job:${createHash('sha256').update(`${job.id}\n${job.addedAtMs}`).digest('base64url')}`
