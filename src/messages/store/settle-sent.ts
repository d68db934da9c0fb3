// Settling messages of campaigns that were sent at their first attempt, many in one step: almost all that a chunk has. What
// is not as plain as that, `recordStatus` settles one by one.
import { z } from 'zod'
import { observerOf } from '../../observe.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, inDoubtKey, messageKey, outboxKey, pollKey } from '../../redis/keys.ts'
import { needsReplicas } from '../../redis/replication.ts'
import { acceptedAtMs } from '../message-id.ts'
import { gathered } from './gathered-steps.ts'
import { defineMessageScript } from './message-script.ts'
import { providerIdField } from './record-format.ts'
import { recordStatus } from './steps.ts'

const sentScript = defineMessageScript(import.meta.url, 'message-sent')
const sentReply = z.string()

/**
 * So long a message waits for others, to be settled with them. It is in its record that it is being sent, and whoever dies
 * meanwhile dies before settling it; at 100 in flight, 20 are settled in one step instead of some 5.
 */
const WAIT_MS = 40

/** A message of a campaign, and where its recipient stands in the list. */
export interface PlacedMessage {
  lane: number
  ulid: string
  run: number
  place: number
}

/**
 * Proof that the attempt was sent, under the provider's id of the message; the same as `recordStatus` with `sent`.
 * `firstPollMs`: until the first status poll, if the message is to be polled.
 */
export async function recordSent(
  redis: Redis,
  message: PlacedMessage,
  attempt: string,
  providerId: string,
  firstPollMs: number | undefined,
): Promise<void> {
  // Each message is to be told whether replicas have it.
  const isSent = needsReplicas(redis)
    ? false
    : await settleTogether(redis, groupOf(message, firstPollMs), { message, attempt, providerId, firstPollMs })
  if (isSent !== true) await recordStatus(redis, message, attempt, 'sent', { providerId, firstPollMs })
}

/** The latest group: almost all messages are of the same as the one before. */
let latest = { lane: 0, run: 0, head: '', firstPollMs: -1, name: '' }
/** Characters of a ULID that are the time: ids of one campaign begin alike, with its start. */
const TIME_CHARACTERS = 10

/** Messages that one step may settle. */
function groupOf({ lane, run, ulid }: PlacedMessage, firstPollMs = 0): string {
  const { head } = latest
  if (lane === latest.lane && run === latest.run && firstPollMs === latest.firstPollMs && ulid.startsWith(head))
    return latest.name
  const time = ulid.slice(0, TIME_CHARACTERS)
  latest = { lane, run, head: time, firstPollMs, name: `${lane} ${run} ${time} ${firstPollMs}` }
  return latest.name
}

interface Sent {
  message: PlacedMessage
  attempt: string
  providerId: string
  firstPollMs: number | undefined
}

/** True for each that is settled. */
const settleTogether = gathered<Sent>(async (redis, all) => {
  const [first] = all
  if (first === undefined) return []
  const { lane, run, ulid } = first.message
  const reply = await sentScript(
    redis,
    { outbox: outboxKey(lane), inDoubt: inDoubtKey(lane), polls: pollKey(lane) },
    {
      campaigns: campaignPrefix(lane),
      run,
      acceptedAt: acceptedAtMs(ulid),
      records: messageKey(lane, ''),
      ulids: all.map(({ message }) => message.ulid),
      places: all.map(({ message }) => message.place),
      attempts: all.map(({ attempt }) => attempt),
      providerIds: all.map(({ providerId }) => providerIdField(providerId)),
      firstPollMs: first.firstPollMs,
    },
  )
  const letters = sentReply.parse(reply)
  let count = 0
  const settled = all.map((_one, i) => letters[i] === 's')
  for (const isSettled of settled) if (isSettled) count += 1
  if (count > 0) observerOf(redis).changed({ lane, class: 'campaign', from: 'sending', to: 'sent', count })
  return settled
}, WAIT_MS)
