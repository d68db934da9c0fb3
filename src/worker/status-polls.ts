// Follows sent messages on wires that tell nothing by themselves. Each lane has a sorted set of messages by the time
// of their next poll and one job that serves it: polls what is due, then puts itself back for the earliest that is
// left. Polls come after half the message's age, so they thin out; they stop at a final state or after a day. What goes
// wrong with one message is that message's alone: it is logged, put off, and its neighbours are polled.
import { Queue, Worker } from 'bullmq'
import type { Config } from '../config.ts'
import { POLL_JOB, POLL_QUEUE, type PollPayload, pollJobId, pollPayloadSchema } from '../jobs/poll-status.ts'
import type { Log } from '../log.ts'
import { FIRST_POLL_MS, nextPollMs, POLL_FOR_MS } from '../messages/backoff.ts'
import { acceptedAtMs, type MessageId, messageId } from '../messages/message-id.ts'
import { readStory } from '../messages/story.ts'
import { nextPollAt, pollAgain, pollNoMore, takeDuePolls } from '../store/lane-survey.ts'
import { type MessageRecord, readMessage } from '../store/message-records.ts'
import { giveEvidence } from '../store/messages.ts'
import type { Redis } from '../store/redis.ts'
import { isRedisAway } from '../store/redis-errors.ts'
import { sharedQueuePrefix } from '../store/redis-keys.ts'
import { redisNowMs } from '../store/worker-beats.ts'
import { endJob, type JobEnd } from './bullmq.ts'
import type { DirectoryEntry, SenderDirectory } from './sender-directory.ts'

/** Polls of one lane under way at the same time. */
const AT_ONCE = 20
/** Messages taken in one go; a job goes on until nothing is due. */
const BATCH = 200
/** A poll that died is repeated after this. */
const LEASE_MS = 60_000
/** A message that could not be asked about is looked at again after this: a person may have mended its record. */
const PUT_OFF_MS = 3_600_000

interface PollDeps {
  redis: Redis
  config: Config
  log: Log
  directory: SenderDirectory
}

export type StatusPolls = ReturnType<typeof startStatusPolls>

export function startStatusPolls(deps: PollDeps) {
  const where = { connection: deps.redis, prefix: sharedQueuePrefix(POLL_QUEUE) }
  const queue = new Queue<PollPayload>(POLL_QUEUE, { ...where, streams: { events: { maxLen: 100 } } })
  const worker = new Worker(
    POLL_QUEUE,
    async (job, token) => endJob(await pollLane(deps, job.data, schedule), job, token, queue),
    {
      ...where,
      concurrency: 50,
      lockDuration: 30_000,
      stalledInterval: 10_000,
      maxStalledCount: 5,
      removeOnComplete: { count: 0 },
      removeOnFail: { age: 7 * 86_400, count: 1_000 },
    },
  )
  queue.on('error', (error) => deps.log.debug({ err: error }, 'polls.error'))
  worker.on('error', (error) => deps.log.debug({ err: error }, 'polls.error'))
  worker.on('failed', (job, error) => deps.log.error({ job: job?.id, reason: error.message }, 'poll.set_aside'))

  /** When this process has last asked for a poll of a lane: most sends need not ask again. */
  const asked = new Map<number, number>()

  async function schedule(lane: number, dueMs: number): Promise<void> {
    const payload = { v: 1 as const, lane }
    await queue.add(POLL_JOB, payload, {
      jobId: pollJobId(lane, dueMs),
      delay: Math.max(0, dueMs - Date.now()),
    })
  }

  return {
    /** A message of the lane was sent: its first poll is a second away. Never rejects; the sweep asks again. */
    follow(lane: number): void {
      const dueMs = Date.now() + FIRST_POLL_MS
      const last = asked.get(lane)
      if (last !== undefined && last > Date.now()) return
      asked.set(lane, dueMs)
      schedule(lane, dueMs).catch((error: unknown) => deps.log.warn({ lane, err: error }, 'poll.not_scheduled'))
    },

    async stop(limitMs: number): Promise<void> {
      await Promise.race([worker.close(), new Promise((resolve) => setTimeout(resolve, limitMs).unref())])
      await queue.close()
    },
  }
}

async function pollLane(
  deps: PollDeps,
  data: unknown,
  schedule: (lane: number, dueMs: number) => Promise<void>,
): Promise<JobEnd> {
  const payload = pollPayloadSchema.safeParse(data)
  if (!payload.success) return { kind: 'unusable', reason: 'payload does not parse' }
  const { lane } = payload.data
  const entry = await deps.directory.of(lane)
  if (!entry) return { kind: 'unusable', reason: `lane ${lane} has no sender` }

  for (;;) {
    const now = await redisNowMs(deps.redis)
    const due = await takeDuePolls(deps.redis, lane, now, now + LEASE_MS, BATCH)
    if (due.length === 0) break
    // A fixed number of runners share one list: a slow answer holds up one of them, not the batch.
    const rest = due.values()
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        for (const ulid of rest) await pollOrPutOff(deps, entry, { lane, ulid })
      }),
    )
  }
  // Dying here leaves the lane without a job until the sweep notices that polls are late.
  const next = await nextPollAt(deps.redis, lane)
  if (next !== undefined) await schedule(lane, Math.max(next, Date.now() + FIRST_POLL_MS))
  return { kind: 'done' }
}

/** Rejects only when Redis refuses: then the message stays on the list and is due again when its lease is over. */
async function pollOrPutOff(deps: PollDeps, entry: DirectoryEntry, id: MessageId): Promise<void> {
  try {
    await pollMessage(deps, entry, id)
  } catch (error) {
    if (isRedisAway(error)) throw error
    deps.log.error({ message: messageId(id.lane, id.ulid), err: error }, 'poll.failed')
    await pollAgain(deps.redis, id.lane, id.ulid, (await redisNowMs(deps.redis)) + PUT_OFF_MS)
  }
}

async function pollMessage(deps: PollDeps, entry: DirectoryEntry, id: MessageId): Promise<void> {
  const record = await readMessage(deps.redis, id)
  if (!record?.providerId || !entry.provider.poll) return pollNoMore(deps.redis, id.lane, id.ulid)
  const end = await entry.provider.poll(entry.providerSender, record.providerId, deps.config.sendTimeoutMs)
  if (end.kind === 'status') {
    const { verdict } = await giveEvidence(deps.redis, id, record.attempt, end.status, { problem: end.problem })
    if (verdict === 'done' && (end.status === 'read' || end.status === 'failed')) return
  }
  const now = await redisNowMs(deps.redis)
  const sentAt = sentAtMs(record, id)
  if (now - sentAt > POLL_FOR_MS) return pollNoMore(deps.redis, id.lane, id.ulid)
  await pollAgain(deps.redis, id.lane, id.ulid, now + nextPollMs(now - sentAt))
}

/**
 * When it was last sent. A history may lack that: another attempt's delivery came first, or a person changed it. Then
 * it counts from the acceptance; counted from now it would be of age 0 for ever and polled every second.
 */
function sentAtMs(record: MessageRecord, id: MessageId): number {
  const acceptedMs = acceptedAtMs(id.ulid)
  return readStory(record.history, acceptedMs).findLast(({ code }) => code === 's')?.atMs ?? acceptedMs
}
