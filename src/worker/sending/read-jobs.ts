// Reads waiting jobs into messages. A job that can never be sent, a poison message, becomes a dead letter. Reading changes
// nothing: a process that dies here leaves the lane as it was.
import { isForeignPayload, type SendPayload, sendPayloadSchema } from '../../jobs/send.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { deadLetter, type WaitingJob } from '../../lanes/jobs.ts'
import { newMessageOf } from '../../lanes/messages/new-message.ts'
import type { SendDeps } from './attempt.ts'
import { Candidate } from './candidate.ts'

/** A message becomes a dead letter when this many workers have died after reading it alone. */
export const MOST_DEATHS = 3
export const reasonOfDeaths = (deaths: number): string => `${deaths} workers died while they read it alone`

/**
 * The messages of these jobs. `isForeign`: some are sealed under a data key that this worker was not started with.
 * Without a sender all jobs become dead letters.
 */
export async function readJobs(
  deps: Pick<SendDeps, 'redis' | 'config' | 'log'>,
  lane: number,
  jobs: readonly WaitingJob[],
  hasSender: boolean,
): Promise<{ messages: Candidate[]; isForeign: boolean }> {
  const messages: Candidate[] = []
  let isForeign = false
  for (const job of jobs) {
    const found = hasSender ? readJob(lane, job) : { reason: `lane ${lane} has no sender` }
    if ('message' in found) messages.push(found.message)
    else if ('reason' in found) await deadLetterJob(deps, lane, job.id, found.reason)
    else {
      deps.log.error({ message: job.id }, 'attempt.data_key_missing')
      isForeign = true
    }
  }
  return { messages, isForeign }
}

/** The message of a job, why it can never be sent, or `foreign`: it is sealed under a key of another worker. */
function readJob(lane: number, job: WaitingJob): { message: Candidate } | { reason: string } | { foreign: true } {
  if (job.deaths >= MOST_DEATHS) return { reason: reasonOfDeaths(job.deaths) }
  const id = parseMessageId(job.id)
  if (!id) return { reason: 'the job id is not a message id' }
  // A claim is for one lane: it would find no job for this message.
  if (id.lane !== lane) return { reason: `the job id belongs to another lane, ${id.lane}` }
  let data: unknown
  try {
    data = JSON.parse(job.data)
  } catch {
    return { reason: 'payload is not JSON' }
  }
  const read = sendPayloadSchema.safeParse(data)
  if (!read.success) {
    if (isForeignPayload(data)) return { foreign: true }
    // The place and the rule, not the sentence: that quotes what a person was to read, and this reason is logged.
    const [issue] = read.error.issues
    return { reason: `payload does not parse: ${issue?.path.join('.')} (${issue?.code})` }
  }
  const payload: SendPayload = read.data
  const { content, trace, route } = payload
  const message = newMessageOf(payload)
  const found = { id, name: job.id, waitsAs: 'job', message, content, route, trace, payload: () => payload } as const
  return { message: new Candidate(found) }
}

/** Makes the job a dead letter, and logs it once. */
export async function deadLetterJob(
  { redis, config, log }: Pick<SendDeps, 'redis' | 'config' | 'log'>,
  lane: number,
  id: string,
  reason: string,
): Promise<void> {
  if (await deadLetter(redis, lane, { id, reason, keptMs: config.retentionMs })) {
    log.error({ lane, message: id, reason }, 'message.dead_lettered')
  }
}
