// A sender that can send nothing, as the chat product says, is paused until a person resumes it: every try would be
// refused, and a wrong token stays wrong. One message alone may draw that answer, though. It must not pause its sender
// at every resume: refused once more after others were sent, it fails.

import { findSender, setBlocked } from '../../accounts/store/senders.ts'
import { tellBlocked } from '../../lanes/sender-events.ts'
import type { Log } from '../../log.ts'
import { readHistory } from '../../messages/history.ts'
import { masked } from '../../messages/masked.ts'
import { acceptedAtMs, type MessageId } from '../../messages/message-id.ts'
import type { Problem } from '../../messages/outcome.ts'
import { readMessage } from '../../messages/store/records.ts'
import type { LaneQueues } from '../../queue/lane/queues.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { senderKey } from '../../redis/keys.ts'

/** The letter in a history of an attempt that was proven unsent, with the code as its detail. */
const UNSENT = 'u'

/**
 * Whether the refusal is about this message and not about its sender: it was refused with the same code before, and
 * another message of the sender was claimed after that and sent.
 */
export async function isOneMessageAlone(redis: Redis, id: MessageId, code: string): Promise<boolean> {
  const record = await readMessage(redis, id)
  const history = readHistory(record?.history ?? '', acceptedAtMs(id.ulid))
  const before = history.findLast((entry) => entry.code === UNSENT && entry.detail === code)
  if (before === undefined) return false
  return ((await findSender(redis, id.lane))?.sent_after_block ?? 0) >= before.atMs
}

/**
 * Stops the lane until a person resumes it. Dying between the writes leaves it paused without a reason, or nobody told;
 * the next message that is refused after a resume makes up for it.
 */
export async function blockSender(
  deps: { redis: Redis; lanes: LaneQueues; log: Log },
  lane: number,
  { code, sentence }: Problem,
): Promise<void> {
  await deps.lanes.pause(lane)
  const shown = masked(sentence)
  await setBlocked(deps.redis, lane, shown, await redisNowMs(deps.redis, senderKey(lane)))
  await tellBlocked(deps.redis, lane, shown)
  deps.log.error({ lane, code, sentence: shown }, 'sender.blocked')
}
