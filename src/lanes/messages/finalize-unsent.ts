// Ends messages that cannot or must not be claimed, so that every recipient has an outcome and the campaign can finish: dead letters,
// lost records, people who opted out or were erased. Expired messages end in the claim (scripts/message-unsendable.lua).
import { z } from 'zod'
import { type SendPayload, storedPayload } from '../../jobs/send.ts'
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { deadLetter, optedOut, personErased, recordLost } from '../../model/messages/own-problems.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, inDoubtKey, messageKey, outboxKey, placesKey, requeueableKey } from '../../redis/keys.ts'
import { observerOf } from '../../redis/observe.ts'
import { laneBacklogKeys, laneJobKey } from '../bullmq/layout.ts'
import { defineMessageScript } from './message-script.ts'
import { newMessageOf } from './new-message.ts'
import { FIELD, newRecordFields, storedProblem } from './record-format.ts'

const finalizeScript = defineMessageScript(import.meta.url, 'message-finalize-unsent')
const finalizeReply = z.tuple([z.enum(['done', 'ignored']), z.string()])

const ENDS = {
  dead: { to: 'failed', problem: deadLetter },
  gone: { to: 'unknown', problem: recordLost },
  erased: { to: 'cancelled', problem: personErased },
  opted_out: { to: 'cancelled', problem: optedOut },
} as const

/**
 * `dead`: its job was dead-lettered before it was ever claimed; it ends `failed` with the code dead_letter. `gone`: it
 * was claimed and its record is gone before it was settled; it ends `unknown` with the code record_lost, since it may
 * have been sent. Either can be requeued: the record holds the payload. `erased`: nobody claimed it, and the person is
 * to be forgotten; it ends `cancelled` with the code person_erased, and the record says neither whom it was for nor
 * what it said. `opted_out`: nobody claimed it, and the person wants no such messages; it ends `cancelled` with the
 * code opted_out, and can be requeued. Resolves to false when it is none of these (any more).
 */
export async function finalizeUnsent(
  redis: Redis,
  id: MessageId,
  how: keyof typeof ENDS,
  payload: SendPayload,
  retentionMs: number,
): Promise<boolean> {
  const { lane, ulid } = id
  const { run } = payload
  const isErased = how === 'erased'
  const end = ENDS[how]
  const message = newMessageOf(payload)
  const kept = isErased
    ? { ...message, to: '', text: '', filled: undefined, campaign: undefined, reference: undefined }
    : message
  const reply = await finalizeScript(
    redis,
    {
      outbox: outboxKey(lane),
      record: messageKey(lane, ulid),
      inDoubt: inDoubtKey(lane),
      requeueable: requeueableKey(lane),
      job: laneJobKey(lane, messageId(lane, ulid)),
      places: placesKey(lane),
      active: laneBacklogKeys(lane).active,
    },
    {
      ...{ ulid, id: messageId(lane, ulid), why: how, acceptedAt: acceptedAtMs(ulid), retentionMs },
      ...{ run, campaigns: campaignPrefix(lane) },
      problem: storedProblem(end.problem),
      newFields: [
        ...(isErased ? [] : [FIELD.payload, JSON.stringify(storedPayload(payload))]),
        ...newRecordFields(kept),
      ],
    },
  )
  if (finalizeReply.parse(reply)[0] !== 'done') return false
  const { to, problem } = end
  observerOf(redis).changed({ lane, class: payload.class, from: undefined, to, code: problem.code })
  return true
}
