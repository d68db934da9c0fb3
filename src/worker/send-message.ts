// The job `send`: one message that has a job of its own. It is read, and refused where it cannot be sent; attempt.ts makes
// the attempt and says where the process may die.
import type { Job } from 'bullmq'
import { deadlineIn } from '../deadline.ts'
import { isForeignPayload, sendPayloadSchema } from '../jobs/send.ts'
import { cancelStep } from '../lanes/cancel-message.ts'
import { parseMessageId } from '../messages/message-id.ts'
import { conclude } from '../messages/store/conclude.ts'
import { newMessageOf } from '../messages/store/record-format.ts'
import { claimMessage, type Outgoing, type SendDeps, sendClaimed } from './attempt.ts'
import { barredFor, wantedUntilOf } from './barred.ts'
import type { JobEnd } from './bullmq.ts'
import { senderOrWait } from './lane-sender.ts'
import { waits } from './settle.ts'

/** How long a lane waits whose jobs are sealed under a data key that this worker was not started with. */
const FOREIGN_WAIT_MS = 30_000

/**
 * Makes one attempt for the message of a job and says what becomes of the job. Rejects only when Redis is away or full,
 * or a record is not what Laneway wrote; then nothing was sent, or the sweep settles what was.
 */
export async function sendMessage(deps: SendDeps, job: Job): Promise<JobEnd> {
  // Load.
  const id = parseMessageId(job.id ?? '')
  const payload = sendPayloadSchema.safeParse(job.data)
  if (!id) return { kind: 'dead_letter', reason: 'the job id is not a message id' }
  if (!payload.success) {
    if (isForeignPayload(job.data)) {
      deps.log.error({ message: job.id }, 'attempt.data_key_missing')
      return { kind: 'lane_waits', ms: FOREIGN_WAIT_MS }
    }
    // The place and the rule, not the sentence: that quotes what a person was to read, and this reason is logged.
    const [issue] = payload.error.issues
    return { kind: 'dead_letter', reason: `payload does not parse: ${issue?.path.join('.')} (${issue?.code})` }
  }
  const found = await senderOrWait(deps, id.lane)
  if ('laneMs' in found) return { kind: 'lane_waits', ms: found.laneMs }
  const { entry } = found
  if (!entry) return { kind: 'dead_letter', reason: `lane ${id.lane} has no sender` }

  const outgoing: Outgoing = {
    id,
    name: job.id ?? '',
    message: newMessageOf(payload.data),
    content: payload.data.content,
    trace: payload.data.trace,
  }
  let wantedUntil = wantedUntilOf(entry, outgoing.message)
  const barred = await barredFor(deps, entry, id, outgoing.message)
  if (barred !== undefined) {
    // What was claimed before, or is past its validity, the claim sees to; should it be claimed now, it is asked for again.
    const { verdict } = await cancelStep(deps.redis, id, deps.config.retentionMs, barred)
    if (verdict === 'done') return { kind: 'done' }
    wantedUntil = deadlineIn(Number.NEGATIVE_INFINITY)
  }
  const result = await claimMessage(deps, entry, outgoing, wantedUntil)
  if ('claimed' in result) return sendClaimed(deps, entry, outgoing, result.claimed)
  const { refused } = result
  switch (refused.verdict) {
    case 'lane_cooldown':
    case 'too_early':
      return { kind: 'lane_waits', ms: refused.waitMs }
    case 'message_waits':
      return { kind: 'waits', ms: refused.waitMs }
    case 'recipient_cooldown':
      return waits(deps.redis, id, refused.waitMs)
    case 'gone':
      await conclude(deps.redis, id, 'gone', payload.data, deps.config.retentionMs)
  }
  deps.log.info({ message: job.id, verdict: refused.verdict, state: refused.state }, 'attempt.refused')
  // Where one must not leave there may be thousands.
  const mustNotLeave = refused.state === 'expired' || refused.state === 'cancelled'
  if (refused.verdict === 'stopped' || mustNotLeave) deps.clearLane(id.lane, payload.data.class)
  return { kind: 'done' }
}
