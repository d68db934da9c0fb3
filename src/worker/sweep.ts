// The sweep looks over all lanes every few seconds for what nobody else will notice: lanes with work that no worker
// was woken for, attempts whose worker died, unconfirmed messages whose wait is over, messages queued again whose job
// is gone. Every worker sweeps; each decision is one fenced step in Redis, so that doing it twice changes nothing.
import type { Config } from '../config.ts'
import { laneQueue } from '../jobs/lanes.ts'
import { sendPayloadSchema } from '../jobs/send.ts'
import type { Log } from '../log.ts'
import { messageId } from '../messages/message-id.ts'
import { deadLetter, workerLost } from '../messages/outcome.ts'
import { jsonText } from '../store/broken-record.ts'
import type { LaneQueues } from '../store/lane-queues.ts'
import { lookAgain, lookNoMore, surveyLanes } from '../store/lane-survey.ts'
import { type MessageRecord, readMessage } from '../store/message-records.ts'
import { decide, giveEvidence, keepRecord, loseAttempt } from '../store/messages.ts'
import type { Redis } from '../store/redis.ts'
import { isRedisAway } from '../store/redis-errors.ts'
import { laneJobKey } from '../store/redis-keys.ts'
import { redisNowMs } from '../store/worker-beats.ts'
import type { Lanes } from './lanes.ts'
import type { SenderDirectory } from './sender-directory.ts'

export const SWEEP_MS = 2_000
/** A message queued again is looked at once more after this, in case its job vanishes. */
const LOOK_AGAIN_MS = 60_000
/** A message that could not be looked at is left for this long: a person may have mended its record or its sender. */
const PUT_OFF_MS = 60_000
/** A poll that is this late has lost its job. */
const POLL_LATE_MS = 5_000

const storedPayload = jsonText.pipe(sendPayloadSchema)

export interface SweepDeps {
  redis: Redis
  config: Config
  log: Log
  queues: LaneQueues
  lanes: Lanes
  directory: SenderDirectory
  followByPolling: (lane: number) => void
}

export async function sweep(deps: SweepDeps): Promise<void> {
  const now = await redisNowMs(deps.redis)
  for (const survey of await surveyLanes(deps.redis, now)) {
    if (survey.backlog > 0) deps.lanes.wake(survey.lane)
    if (survey.nextPollAt !== undefined && survey.nextPollAt < now - POLL_LATE_MS) deps.followByPolling(survey.lane)
    for (const ulid of survey.overdue) {
      await lookAt(deps, survey.lane, ulid, now).catch(async (error: unknown) => {
        deps.log.error({ message: messageId(survey.lane, ulid), err: error }, 'sweep.failed')
        // Left at the head of the list, enough of them would keep all others from ever being looked at.
        if (!isRedisAway(error)) await lookAgain(deps.redis, survey.lane, ulid, now + PUT_OFF_MS)
      })
    }
  }
  await deps.lanes.closeIdle()
}

async function lookAt(deps: SweepDeps, lane: number, ulid: string, now: number): Promise<void> {
  const id = { lane, ulid }
  const record = await readMessage(deps.redis, id)
  const entry = await deps.directory.of(lane)
  if (!record || !entry) return lookNoMore(deps.redis, lane, ulid)

  switch (record.state) {
    case 'sending': {
      const waitMs = entry.bringsEvidence ? deps.config.unconfirmedWaitMs : 0
      await loseAttempt(deps.redis, id, record.attempt, { problem: workerLost, waitMs })
      return
    }
    case 'unconfirmed': {
      const result = await decide(deps.redis, id, entry.repeat[record.class], deps.config.maxTries)
      const state = 'state' in result ? result.state : result.verdict
      deps.log.info({ message: messageId(lane, ulid), state }, 'unconfirmed.decided')
      if (state === 'queued') await ensureJob(deps, id, await readMessage(deps.redis, id), now)
      return
    }
    case 'queued':
      // It may wait for long, as on a paused lane, and what was already tried of it must not be forgotten meanwhile.
      await keepRecord(deps.redis, id, deps.config.retentionMs)
      return ensureJob(deps, id, record, now)
    default:
      return lookNoMore(deps.redis, lane, ulid)
  }
}

/** Makes sure that a message that is to be sent again has a job, and that a job set aside is not waited for. */
async function ensureJob(
  deps: SweepDeps,
  id: { lane: number; ulid: string },
  record: MessageRecord | undefined,
  now: number,
): Promise<void> {
  const name = messageId(id.lane, id.ulid)
  const jobKey = laneJobKey(id.lane, laneQueue(id.lane), name)
  const [isThere, reason] = await Promise.all([deps.redis.exists(jobKey), deps.redis.hget(jobKey, 'failedReason')])
  if (isThere === 1) {
    if (reason === null) return lookAgain(deps.redis, id.lane, id.ulid, now + LOOK_AGAIN_MS)
    await giveEvidence(deps.redis, id, record?.attempt ?? '', 'failed', { problem: deadLetter })
    return
  }
  const payload = storedPayload.safeParse(record?.payload)
  if (!payload.success) {
    const problem = { code: 'content_lost', sentence: 'Its content is not there any more, so it cannot be sent again.' }
    await giveEvidence(deps.redis, id, record?.attempt ?? '', 'failed', { problem })
    return
  }
  // Dying between these two lines is harmless: the next sweep adds the same job again, which changes nothing.
  await deps.queues.add(name, { ...payload.data, until: record?.validUntil ?? payload.data.until })
  await lookAgain(deps.redis, id.lane, id.ulid, now + LOOK_AGAIN_MS)
}
