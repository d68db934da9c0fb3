// Ending messages of campaigns that no claim can end, so that every recipient has an outcome and the campaign an end.
import { z } from 'zod'
import type { SendPayload } from '../../jobs/send.ts'
import { observerOf } from '../../observe.ts'
import { laneJobKey } from '../../redis/bullmq-layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, inDoubtKey, messageKey, outboxKey, requeueableKey } from '../../redis/keys.ts'
import { acceptedAtMs, type MessageId, messageId } from '../message-id.ts'
import { deadLetter, recordLost } from '../outcome.ts'
import { defineMessageScript } from './message-script.ts'
import { FIELDS, newRecordFields, storedProblem } from './record-format.ts'

const concludeScript = defineMessageScript(import.meta.url, 'message-conclude')
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
  const { to: recipient, content, until, run, filled, again } = payload
  const message = {
    to: recipient,
    type: content.type,
    text: '',
    class: payload.class,
    validUntil: until,
    campaign: undefined,
  }
  const reply = await concludeScript(
    redis,
    {
      outbox: outboxKey(lane),
      record: messageKey(lane, ulid),
      inDoubt: inDoubtKey(lane),
      requeueable: requeueableKey(lane),
      job: laneJobKey(lane, messageId(lane, ulid)),
    },
    {
      ...{ ulid, why: how, acceptedAt: acceptedAtMs(ulid), retentionMs, run, campaigns: campaignPrefix(lane) },
      problem: storedProblem(how === 'dead' ? deadLetter : recordLost),
      newFields: [
        ...[FIELDS.payload, JSON.stringify(payload)],
        ...newRecordFields({ ...message, run, filled, ...(again && { again }) }),
      ],
    },
  )
  if (concludeReply.parse(reply)[0] !== 'done') return false
  const [to, code] = how === 'dead' ? (['failed', deadLetter.code] as const) : (['unknown', recordLost.code] as const)
  observerOf(redis).changed({ lane, class: payload.class, from: undefined, to, code })
  return true
}
