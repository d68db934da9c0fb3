// Messages of a lane that are not claimed yet: those of the chunks that this worker has taken up, which wait here in
// the order of their lists, and those of the jobs that are next. Dying here changes nothing: whoever was not claimed
// has no mark, and the chunk is taken up again; reading a job takes nothing.
import { isForeignPayload, type SendPayload, sendPayloadSchema } from '../../jobs/send.ts'
import { parseMessageId } from '../../messages/message-id.ts'
import { newMessageOf } from '../../messages/store/record-format.ts'
import { deadLetter, type WaitingJob } from '../../queue/lane/next-jobs.ts'
import type { JobEnd } from '../../queue/worker.ts'
import type { Outgoing, SendDeps } from './attempt.ts'

/** `back`: another worker goes on. */
export type ChunkEnd = JobEnd | { kind: 'back' }

/** The chunks of one lane. */
export interface TakenChunks {
  /**
   * Puts messages of campaign `run` behind those that wait. Resolves to `done` when none of them waits any more, or to
   * how they were ended before that.
   */
  add(run: number, messages: readonly Outgoing[]): Promise<ChunkEnd>
  /** Messages that wait. */
  waiting(): number
  /** Those that are next, `most` at most. They wait until they are `taken`. */
  next(most: number): Outgoing[]
  /** These wait no more. */
  taken(messages: ReadonlySet<Outgoing>): void
  /** Ends all chunks in this way, or those of one campaign. */
  end(how: ChunkEnd, run?: number): void
  /** Gives back what is here and whatever is added later. */
  close(): void
}

/** `added` is called when there is more. */
export function createTakenChunks(added: () => void): TakenChunks {
  let chunks: { run: number; left: readonly Outgoing[]; end: (how: ChunkEnd) => void }[] = []
  let isClosed = false

  function end(how: ChunkEnd, run?: number): void {
    const ended = chunks.filter((chunk) => run === undefined || chunk.run === run)
    chunks = chunks.filter((chunk) => !ended.includes(chunk))
    for (const chunk of ended) chunk.end(how)
  }

  return {
    end,
    add: (run, left) => {
      if (isClosed) return Promise.resolve({ kind: 'back' })
      if (left.length === 0) return Promise.resolve({ kind: 'done' })
      return new Promise((resolve) => {
        chunks.push({ run, left, end: resolve })
        added()
      })
    },
    waiting: () => chunks.reduce((sum, { left }) => sum + left.length, 0),
    next: (most) => {
      const next: Outgoing[] = []
      for (const { left } of chunks) {
        if (next.length >= most) break
        next.push(...left.slice(0, most - next.length))
      }
      return next
    },
    taken: (messages) => {
      if (messages.size === 0) return
      for (const chunk of chunks) chunk.left = chunk.left.filter((message) => !messages.has(message))
      const empty = chunks.filter(({ left }) => left.length === 0)
      chunks = chunks.filter(({ left }) => left.length > 0)
      for (const chunk of empty) chunk.end({ kind: 'done' })
    },
    close: () => {
      isClosed = true
      end({ kind: 'back' })
    },
  }
}

/** A job becomes a dead letter when this many workers have died after reading it alone. */
const MOST_DEATHS = 3

/**
 * The messages of these jobs. `isForeign`: others are sealed under a data key that this worker was not started with.
 * Without a sender all jobs become dead letters.
 */
export async function readJobs(
  deps: Pick<SendDeps, 'redis' | 'config' | 'log'>,
  lane: number,
  jobs: readonly WaitingJob[],
  hasSender: boolean,
): Promise<{ messages: Outgoing[]; isForeign: boolean }> {
  const messages: Outgoing[] = []
  let isForeign = false
  for (const job of jobs) {
    const found = hasSender ? readJob(lane, job) : { reason: `lane ${lane} has no sender` }
    if ('message' in found) messages.push(found.message)
    else if ('reason' in found) await giveUp(deps, lane, job.id, found.reason)
    else {
      deps.log.error({ message: job.id }, 'attempt.data_key_missing')
      isForeign = true
    }
  }
  return { messages, isForeign }
}

/** The message of a job, why it can never be sent, or `foreign`: it is sealed under a key of another worker. */
function readJob(lane: number, job: WaitingJob): { message: Outgoing } | { reason: string } | { foreign: true } {
  if (job.deaths >= MOST_DEATHS) return { reason: `${job.deaths} workers died while they read it alone` }
  const id = parseMessageId(job.id)
  if (!id) return { reason: 'the job id is not a message id' }
  // One claim is for one lane: it would take it for a message of its own and find no job.
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
  const { content, trace } = payload
  return {
    message: { id, name: job.id, from: 'job', message: newMessageOf(payload), content, trace, payload: () => payload },
  }
}

/** Makes the job a dead letter, and logs it once. */
export async function giveUp(
  { redis, config, log }: Pick<SendDeps, 'redis' | 'config' | 'log'>,
  lane: number,
  id: string,
  reason: string,
): Promise<void> {
  if (await deadLetter(redis, lane, { id, reason, keptMs: config.retentionMs })) {
    log.error({ lane, message: id, reason }, 'message.dead_lettered')
  }
}
