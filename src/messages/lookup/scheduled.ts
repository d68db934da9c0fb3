// Messages that are to leave at a time of their own, the next first.
import type { Sender } from '../../accounts/senders.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { type DelayedJob, type DelayedPosition, delayedJobs, isAfter } from '../../lanes/delayed-jobs.ts'
import type { ListSettings } from '../../recipients/unclaimed-message.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { findMessage } from './lookup.ts'
import { listedSent } from './message-document.ts'
import type { ListedMessage } from './message-schema.ts'

/** Lanes that are read at a time: of each, as many jobs as a page has. */
const LANES_AT_ONCE = 20

/** The next `most` jobs of all these senders, in their order. */
export async function nextDelayed(
  redis: Redis,
  senders: readonly Sender[],
  page: { after: DelayedPosition; untilMs: number; most: number },
): Promise<DelayedJob[]> {
  let next: DelayedJob[] = []
  for (let from = 0; from < senders.length; from += LANES_AT_ONCE) {
    const some = senders.slice(from, from + LANES_AT_ONCE)
    const read = await Promise.all(some.map(({ id }) => delayedJobs(redis, id, page)))
    next = [...next, ...read.flat()].sort((one, other) => (isAfter(one, other) ? 1 : -1)).slice(0, page.most)
  }
  return next
}

/** The message of a job, if it waits for its `send_at`: others are tried again, or are marketing that has to wait. */
export async function scheduledMessage(
  redis: Redis,
  job: DelayedJob,
  { senders, nowMs, lists }: { senders: readonly Sender[]; nowMs: number; lists: ListSettings },
): Promise<Extract<ListedMessage, { to: string }> | undefined> {
  const id = parseMessageId(job.id)
  if (id === undefined) return undefined
  try {
    const message = await findMessage(redis, id, nowMs, lists)
    if (message?.state !== 'queued' || (message.sendAt ?? 0) <= nowMs) return undefined
    const sender = senders.find((each) => each.id === id.lane)
    return listedSent(message, sender)
  } catch (error) {
    // As in a list: a record that is not what Laneway wrote is passed over.
    if (error instanceof CorruptRecordError) return undefined
    throw error
  }
}
