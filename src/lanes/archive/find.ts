// Reads messages that were accepted from their records, as much of each as its reader shows.

import { acceptedAtMs } from '../../kernel/message-id.ts'
import { type HistoryEvent, readHistory } from '../../model/messages/history.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { type MessageRecord, type Progress, readMessages, readProgress } from '../messages/records.ts'
import { type MessageFacts, readFacts } from './facts.ts'

/** A message as the archive has it. */
export interface KeptMessage extends Omit<MessageRecord, 'history' | 'others'> {
  /** What happened since it was accepted, oldest first. */
  history: readonly HistoryEvent[]
}

/** How much is read: everything, only the progress, or only the facts that events need. */
export interface Views {
  whole: KeptMessage
  progress: Progress
  facts: MessageFacts
}

/** One that is not what Laneway wrote is an error; undefined has no record: it was not claimed yet, or is older than the retention. */
export type Found<T> = T | CorruptRecordError | undefined

type Read<T> = (redis: Redis, lane: number, ulids: readonly string[]) => Promise<Found<T>[]>

/** How each view of messages of one lane is read, in the order of their ids and in one round trip. */
export const readView: { readonly [V in keyof Views]: Read<Views[V]> } = {
  whole: readWhole,
  progress: readProgress,
  facts: readFacts,
}

async function readWhole(redis: Redis, lane: number, ulids: readonly string[]): Promise<Found<KeptMessage>[]> {
  return (await readMessages(redis, lane, ulids)).map((record, i) => {
    if (record === undefined || record instanceof CorruptRecordError) return record
    return { ...record, history: readHistory(record.history, acceptedAtMs(ulids[i] ?? '')) }
  })
}
