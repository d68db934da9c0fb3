// Ending messages of campaigns that no claim can end, so that every recipient has an outcome and the campaign an end.
import { z } from 'zod'
import type { SendPayload } from '../../jobs/send.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, endedBadlyKey, laneJobKey, laneQueue, messageKey, openKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { acceptedAtMs, type MessageId, messageId } from '../message-id.ts'
import { deadLetter, recordLost } from '../outcome.ts'
import { newRecordFields, storedProblem } from './steps.ts'

const concludeScript = defineScript(import.meta.url, 'message-conclude', 4)
const concludeReply = z.tuple([z.enum(['done', 'ignored']), z.string()])

/**
 * `dead`: its job was dead-lettered before it was ever claimed; it ends `failed` with the code dead_letter. `gone`: it was
 * claimed and its record is gone before it was settled; it ends `unknown` with the code record_lost, since it may have
 * been sent. Either can be requeued: the record holds the payload. False when it is neither (any more).
 */
export async function conclude(
  redis: Redis,
  id: MessageId,
  how: 'dead' | 'gone',
  payload: SendPayload,
  retentionMs: number,
): Promise<boolean> {
  const { lane, ulid } = id
  const { to, content, until, run, filled, again } = payload
  const message = { to, type: content.type, text: '', class: payload.class, validUntil: until, campaign: undefined }
  const reply = await concludeScript(
    redis,
    [
      ...[messageKey(lane, ulid), openKey(lane), endedBadlyKey(lane)],
      laneJobKey(lane, laneQueue(lane), messageId(lane, ulid)),
    ],
    [
      ...[ulid, how, acceptedAtMs(ulid), retentionMs, run ?? '', campaignPrefix(lane)],
      storedProblem(how === 'dead' ? deadLetter : recordLost),
      ...['p', JSON.stringify(payload)],
      ...newRecordFields({ ...message, run, filled, ...(again && { again }) }),
    ],
  )
  return concludeReply.parse(reply)[0] === 'done'
}
