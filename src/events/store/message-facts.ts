// What never changes of a message, as far as events tell it: read from the records when it is told, of all messages of a
// delivery at once.
import { z } from 'zod'
import { campaignTexts } from '../../campaigns/store/text.ts'
import {
  countedClassSchema,
  FIELDS,
  shownProviderId,
  storedType,
  typeSchema,
} from '../../messages/store/record-format.ts'
import { readMessagesOrNot } from '../../messages/store/records.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { defineScriptOfMany } from '../../redis/lua.ts'

/** Records read in one step: some 0.2 ms of Redis. */
const AT_ONCE = 100

const script = defineScriptOfMany(import.meta.url, 'message-facts')
const READ = [FIELDS.class, FIELDS.type, FIELDS.campaign, FIELDS.run, FIELDS.providerId, FIELDS.to] as const
const replies = z.array(z.unknown())
const text = z.string().nullable()
const stored = z.tuple([countedClassSchema.nullable(), typeSchema.nullable(), text, text, text, text])

/** Of a message that is not kept any more all are null. */
export interface MessageFacts {
  class: z.infer<typeof countedClassSchema> | null
  kind: z.infer<typeof typeSchema> | null
  group: string | null
  /** Number of its campaign. */
  run: number | null
  providerId: string | null
  /** Whom it went to was erased: what the chat product said of it, which may name them, is told no more. */
  isForgotten: boolean
}

/** The facts of these messages of one lane, by ULID. */
export async function readFacts(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<Map<string, MessageFacts>> {
  const facts = new Map<string, MessageFacts>()
  await inLots(ulids, async (lot) => {
    const each = lot.map((ulid) => ({ keys: { record: messageKey(lane, ulid) }, args: {} }))
    const found = replies.parse(await script(redis, {}, { fields: READ }, each))
    for (const [i, ulid] of lot.entries()) {
      const [of, type, group, run, providerId, to] = stored.safeParse(found[i]).data ?? [null, null, null, null, null]
      const opened = providerId === null ? null : shownProviderId(providerId)
      const number = run === null ? null : Number(run)
      const kind = storedType(type ?? undefined, number ?? undefined) ?? null
      facts.set(ulid, { class: of, kind, group, run: number, providerId: opened, isForgotten: to === '' })
    }
  })
  return facts
}

/** To whom a message goes and what it says; null of one that is not kept or cannot be read. */
export interface MessageContent {
  to: string | null
  text: string | null
}

/** The same of what only those are told who asked for content. */
export async function readContents(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<Map<string, MessageContent>> {
  const contents = new Map<string, MessageContent>()
  const textOf = campaignTexts(redis)
  await inLots(ulids, async (lot) => {
    const records = await readMessagesOrNot(redis, lane, lot)
    for (const [i, ulid] of lot.entries()) {
      const record = records[i]
      const isRead = record !== undefined && record !== 'unreadable'
      contents.set(
        ulid,
        isRead ? { to: record.to, text: (await textOf(lane, record)) ?? record.text } : { to: null, text: null },
      )
    }
  })
  return contents
}

async function inLots(ulids: readonly string[], read: (lot: readonly string[]) => Promise<void>): Promise<void> {
  const lots: Promise<void>[] = []
  for (let at = 0; at < ulids.length; at += AT_ONCE) lots.push(read(ulids.slice(at, at + AT_ONCE)))
  await Promise.all(lots)
}
