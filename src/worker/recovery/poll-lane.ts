// Makes the due status polls of one lane, within the lane's budget (lanes/messages/poll-list.ts). If other lanes may be waiting, the
// lane yields after a few seconds. A failure of one message is logged and delays that message only.

import { createCampaignRefusals } from '../../campaigns/fan-out/circuit-breaker.ts'
import { laneBackoffMs } from '../../kernel/backoff.ts'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { HOUR_MS } from '../../kernel/time-units.ts'
import { coolPolls, endPoll, takePolls } from '../../lanes/messages/poll-list.ts'
import { type MessageRecord, readMessage } from '../../lanes/messages/records.ts'
import type { LaneQueues } from '../../lanes/queues.ts'
import { HISTORY, type HistoryCode, readHistory } from '../../model/messages/history.ts'
import { MAX_RETRY_AFTER_MS } from '../../model/messages/outcome.ts'
import { nextPollMs, POLL_FOR_MS } from '../../model/messages/poll-schedule.ts'
import type { PollEnd } from '../../model/provider.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { pollKey } from '../../redis/keys.ts'
import { observerOf } from '../../redis/observe.ts'
import { applyReport, type ReportDeps } from '../../reports/apply-report.ts'
import type { DirectoryEntry, SenderDirectory } from '../sending/sender-directory.ts'

/** Lanes that one worker polls at the same time. */
export const LANES_AT_ONCE = 50
/** While others may be waiting, a lane yields after this, once its last poll has ended. */
const SLICE_MS = 5_000
/** A lane that would idle for longer yields at once. */
const PATIENCE_MS = 1_000
/** A poll must leave within this time of being taken; a process that was frozen in between drops it. */
const GOOD_FOR_MS = 5_000
/** Retry delay for the lane of an unreadable sender, which a person may repair. */
const PUT_OFF_MS = 60_000

/** How often in a row the provider has throttled polls of a lane, and until when that holds (performance.now). */
interface Throttling {
  inARow: number
  until: number
}

/** The poller of this process, for up to LANES_AT_ONCE lanes. */
export function createLanePoller(deps: PollDeps) {
  const { redis, log } = deps
  const asking = { ...deps, lanes: deps.queues, refusals: createCampaignRefusals(deps) }
  const leaseMs = GOOD_FOR_MS + deps.config.sendTimeoutMs + GOOD_FOR_MS
  const throttled = new Map<number, Throttling>()
  let lanes = 0
  let stopping = false

  async function pollOne(lane: number, entry: DirectoryEntry, ulid: string): Promise<void> {
    const end = await pollOrPutOff(asking, entry, { lane, ulid })
    if (end?.kind === 'throttled') return coolDown(lane, end.retryAfterMs)
    const known = throttled.get(lane)
    if (known && known.until <= performance.now() && end?.kind !== 'no_answer') throttled.delete(lane)
  }

  /** Only the polls wait: messages are throttled by their own answers. */
  async function coolDown(lane: number, retryAfterMs: number | undefined): Promise<void> {
    const now = performance.now()
    const known = throttled.get(lane)
    // Polls that were in flight together are throttled together, which counts once.
    const inARow = known === undefined ? 1 : known.until > now ? known.inARow : known.inARow + 1
    const ms = retryAfterMs ? Math.min(retryAfterMs, MAX_RETRY_AFTER_MS) : laneBackoffMs(1_000, inARow - 1)
    if (inARow !== known?.inARow) log.warn({ lane, ms }, 'poll.throttled')
    throttled.set(lane, { inARow, until: Math.max(known?.until ?? 0, now + ms) })
    await coolPolls(redis, lane, ms)
  }

  /** The sender, or undefined when there is none that can be polled; then its polls wait for a while. */
  async function senderOf(lane: number): Promise<DirectoryEntry | undefined> {
    let trouble: unknown = 'the lane has no sender'
    try {
      const entry = await deps.directory.of(lane)
      if (entry) return entry
    } catch (error) {
      if (isRedisAway(error)) throw error
      trouble = error
    }
    log.error({ lane, err: trouble }, 'poll.failed')
    await coolPolls(redis, lane, PUT_OFF_MS)
    return undefined
  }

  async function pollWhatIsDue(lane: number): Promise<void> {
    const endsAt = performance.now() + SLICE_MS
    const mayGoOn = () => !stopping && (lanes < LANES_AT_ONCE || performance.now() < endsAt)
    const running = new Set<Promise<void>>()
    const failures: unknown[] = []
    const begin = (entry: DirectoryEntry, ulid: string): void => {
      const over = pollOne(lane, entry, ulid)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(over))
      running.add(over)
    }

    while (mayGoOn() && failures.length === 0) {
      const entry = await senderOf(lane)
      if (!entry) break
      const askedAt = performance.now()
      const { ulids, waitMs, isFull } = await takePolls(redis, lane, entry.sender.rate, leaseMs)
      if (performance.now() - askedAt < GOOD_FOR_MS) for (const ulid of ulids) begin(entry, ulid)
      const isIdle = waitMs === undefined || waitMs > PATIENCE_MS
      if (isIdle && running.size === 0) break
      const waiting = pause(Math.min(waitMs ?? PATIENCE_MS, PATIENCE_MS))
      // When there is no room, the end of a poll makes some.
      await ((isIdle || isFull) && running.size > 0 ? Promise.race([...running, waiting]) : waiting)
    }
    await Promise.all(running)
    if (failures.length > 0) throw failures[0]
  }

  return {
    /** Polls what is due on the lane; rejects when Redis is away. */
    async poll(lane: number): Promise<void> {
      lanes += 1
      try {
        await pollWhatIsDue(lane)
      } finally {
        lanes -= 1
      }
    },

    /** Makes every lane yield soon. */
    stop(): void {
      stopping = true
    },
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Dependencies of polling, the same for all lanes. */
export interface PollDeps {
  redis: Redis
  config: Config
  log: Log
  directory: SenderDirectory
  queues: LaneQueues
}

/** The same, with those of applying the answers. */
type AskDeps = PollDeps & ReportDeps

/** Retry delay for a message that could not be polled; a person may repair its record. */
const RECORD_PUT_OFF_MS = HOUR_MS

/**
 * Polls one message and ends its poll; resolves to the provider's answer if there is one. Rejects only when Redis refuses: then the message
 * stays on the list and is due again when its lease ends.
 */
async function pollOrPutOff(deps: AskDeps, entry: DirectoryEntry, id: MessageId): Promise<PollEnd | undefined> {
  try {
    return await pollMessage(deps, entry, id)
  } catch (error) {
    if (isRedisAway(error)) throw error
    deps.log.error({ message: messageId(id.lane, id.ulid), err: error }, 'poll.failed')
    await endPoll(deps.redis, id.lane, id.ulid, (await redisNowMs(deps.redis, pollKey(id.lane))) + RECORD_PUT_OFF_MS)
    return undefined
  }
}

async function pollMessage(deps: AskDeps, entry: DirectoryEntry, id: MessageId): Promise<PollEnd | undefined> {
  const { redis, config } = deps
  const over = () => endPoll(redis, id.lane, id.ulid, undefined)
  const record = await readMessage(redis, id)
  if (!record?.providerId || !entry.provider.poll) {
    await over()
    return undefined
  }
  const end = await entry.provider.poll(entry.providerSender, record.providerId, config.sendTimeoutMs)
  observerOf(redis).polled(end.kind)
  let state: string = record.state
  if (end.kind === 'status') {
    const { status, problem } = end
    const result = await applyReport(deps, entry.sender, { id, attempt: record.attempt, status, problem })
    if ('state' in result) state = result.state
    if (result.verdict === 'done' && (end.status === 'read' || end.status === 'failed')) {
      await over()
      return end
    }
  }
  const now = await redisNowMs(redis, pollKey(id.lane))
  const ageMs = now - (lastAt(record, id, HISTORY.sent) ?? acceptedAtMs(id.ulid))
  if (ageMs > POLL_FOR_MS) {
    await over()
    return end
  }
  // Without a time in its history, it was delivered just now, or as long ago as it was sent.
  const foundMs = record.state === 'delivered' ? ageMs : 0
  const deliveredAt = lastAt(record, id, HISTORY.delivered) ?? now - foundMs
  const deliveredMs = state === 'delivered' ? now - deliveredAt : undefined
  await endPoll(redis, id.lane, id.ulid, now + nextPollMs(ageMs, deliveredMs))
  return end
}

/**
 * The time of the latest such event. A history may lack it: another attempt's delivery came first, or a person changed it. A message
 * without a `sent` entry counts from its acceptance: counted from now its age would always be 0, and it would be polled every second.
 */
const lastAt = (record: MessageRecord, id: MessageId, code: HistoryCode): number | undefined =>
  readHistory(record.history, acceptedAtMs(id.ulid)).findLast((event) => event.code === code)?.atMs
