// What a job of the intake queue is to the function that does it, and what all of those functions need.
import { createHash } from 'node:crypto'
import type { z } from 'zod'
import type { Permission } from '../../../accounts/store/credentials.ts'
import type { LifecycleDeps } from '../../../campaigns/commands/lifecycle.ts'
import type { ListSettings } from '../../../campaigns/store/open-campaigns.ts'
import type { IntakeContract, IntakeJob, intakeAnswers } from '../../../jobs/intake.ts'
import type { AcceptDeps } from '../../../messages/accept/accept-message.ts'
import { invalidFields } from '../../../messages/accept/refusal.ts'
import { faultsOf } from '../../../messages/fault.ts'
import type { Tombstones } from '../../../people/tombstones.ts'

/** What the functions behind intake jobs need, beside what accepting a message does. */
export interface VerbDeps extends AcceptDeps {
  tombstones: Tombstones
  lifecycle: LifecycleDeps
  config: AcceptDeps['config'] & ListSettings
}

/** A job whose key was found good. */
export interface CheckedJob {
  id: string
  /** When it was added (epoch ms); does not change when it is run again. */
  addedAtMs: number
  account: number
  data: object
  contract: IntakeContract
}

/** What is done for one kind of intake job, and the permission that its key must have. */
export interface IntakeVerb<J extends IntakeJob> {
  permission: Permission
  /** Does it and resolves to the answer, or throws a Refusal. Doing it twice does it once. */
  run: (deps: VerbDeps, job: CheckedJob) => Promise<z.input<(typeof intakeAnswers)[J]>>
}

/** What the schema makes of a job's data, or a Refusal with all its faults. */
export function read<S extends z.ZodType>(schema: S, data: object): z.output<S> {
  const parsed = schema.safeParse(data)
  if (!parsed.success) throw invalidFields(faultsOf(parsed.error, data))
  return parsed.data
}

/**
 * The idempotency key of a job that brought none: a job that is run twice, as after a crash, makes one message. The
 * time it was added belongs to it, because BullMQ counts its job ids from 1 again when a queue was emptied for good.
 */
export const keyOf = (job: CheckedJob): string =>
  `job:${createHash('sha256').update(`${job.id}\n${job.addedAtMs}`).digest('base64url')}`
