// The sweep looks over all lanes every few seconds for what nobody else will notice: lanes with work that no worker
// was woken for, attempts whose worker died, unconfirmed messages whose wait is over, messages queued again whose job
// is gone. Every worker sweeps; each decision is one fenced step in Redis, so that doing it twice changes nothing.
import type { Config } from '../config.ts'
import type { Log } from '../log.ts'
import { messageId } from '../messages/message-id.ts'
import { workerLost } from '../messages/outcome.ts'
import type { LaneQueues } from '../store/lane-queues.ts'
import { lookAgain, lookNoMore, surveyLanes } from '../store/lane-survey.ts'
import { readMessage } from '../store/message-records.ts'
import { decide, loseAttempt } from '../store/messages.ts'
import { noteQueuedAgain } from '../store/queued-again.ts'
import type { Redis } from '../store/redis.ts'
import { isRedisAway } from '../store/redis-errors.ts'
import { redisNowMs } from '../store/worker-beats.ts'
import { ensureJobs } from './ensure-jobs.ts'
import type { Lanes } from './lanes.ts'
import type { SenderDirectory } from './sender-directory.ts'

export const SWEEP_MS = 2_000
/** A message that could not be looked at is left for this long: a person may have mended its record or its sender. */
const PUT_OFF_MS = 60_000
/** A poll that is this late has lost its job. */
const POLL_LATE_MS = 5_000

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
    // After those: their number has no bound, and a claim that was lost with its worker must not wait behind them.
    await ensureJobs(deps, survey.lane, survey.jobless, now).catch((error: unknown) => {
      deps.log.error({ lane: survey.lane, err: error }, 'sweep.failed')
    })
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
      if (state === 'queued') await ensureJobs(deps, lane, [ulid], now)
      return
    }
    case 'queued':
      // Written by a version that kept one list for both.
      return noteQueuedAgain(deps.redis, lane, ulid, now)
    default:
      return lookNoMore(deps.redis, lane, ulid)
  }
}
