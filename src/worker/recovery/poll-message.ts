// One status poll: asks the provider, writes down what it says, and says when to ask again. What goes wrong with one
// message is that message's alone: it is logged, put off, and its neighbours are polled.
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import { nextPollMs, POLL_FOR_MS } from '../../messages/backoff.ts'
import { type HistoryCode, readHistory } from '../../messages/history.ts'
import { acceptedAtMs, type MessageId, messageId } from '../../messages/message-id.ts'
import type { MessageRecord } from '../../messages/store/record-format.ts'
import { readMessage } from '../../messages/store/records.ts'
import { endPoll } from '../../messages/store/status-polls.ts'
import { recordStatus } from '../../messages/store/steps.ts'
import { observerOf } from '../../observe.ts'
import { applyProviderOptOut } from '../../people/opt-outs/commands/apply-opt-outs.ts'
import type { PollEnd } from '../../providers/provider.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { pollKey } from '../../redis/keys.ts'
import type { DirectoryEntry, SenderDirectory } from '../sending/sender-directory.ts'

/** What polling needs, the same for all lanes. */
export interface PollDeps {
  redis: Redis
  config: Config
  log: Log
  directory: SenderDirectory
}

/** A message that could not be asked about is looked at again after this: a person may have repaired its record. */
const PUT_OFF_MS = 3_600_000

/**
 * Asks about one message and ends its poll; resolves to the provider's answer when it was asked. Rejects only when
 * Redis refuses: then the message stays on the list and is due again when its lease is over.
 */
export async function pollOrPutOff(deps: PollDeps, entry: DirectoryEntry, id: MessageId): Promise<PollEnd | undefined> {
  try {
    return await pollMessage(deps, entry, id)
  } catch (error) {
    if (isRedisAway(error)) throw error
    deps.log.error({ message: messageId(id.lane, id.ulid), err: error }, 'poll.failed')
    await endPoll(deps.redis, id.lane, id.ulid, (await redisNowMs(deps.redis, pollKey(id.lane))) + PUT_OFF_MS)
    return undefined
  }
}

async function pollMessage(deps: PollDeps, entry: DirectoryEntry, id: MessageId): Promise<PollEnd | undefined> {
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
    if (end.problem) await applyProviderOptOut(redis, entry.sender.account, record.to, end.problem)
    const result = await recordStatus(redis, id, record.attempt, end.status, { problem: end.problem })
    if ('state' in result) state = result.state
    if (result.verdict === 'done' && (end.status === 'read' || end.status === 'failed')) {
      await over()
      return end
    }
  }
  const now = await redisNowMs(redis, pollKey(id.lane))
  const ageMs = now - (lastAt(record, id, 's') ?? acceptedAtMs(id.ulid))
  if (ageMs > POLL_FOR_MS) {
    await over()
    return end
  }
  // Where its history does not say when, it was delivered just now, or as long ago as it was sent.
  const foundMs = record.state === 'delivered' ? ageMs : 0
  const deliveredAt = lastAt(record, id, 'd') ?? now - foundMs
  const deliveredMs = state === 'delivered' ? now - deliveredAt : undefined
  await endPoll(redis, id.lane, id.ulid, now + nextPollMs(ageMs, deliveredMs))
  return end
}

/**
 * When something last happened to it. A history may lack that: another attempt's delivery came first, or a person
 * changed it. A message whose sending it lacks counts from its acceptance; counted from now it would be of age 0 for
 * ever and polled every second.
 */
const lastAt = (record: MessageRecord, id: MessageId, code: HistoryCode): number | undefined =>
  readHistory(record.history, acceptedAtMs(id.ulid)).findLast((event) => event.code === code)?.atMs
