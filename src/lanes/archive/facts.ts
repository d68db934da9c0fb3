// The fields of messages that events have, read from the records of all messages of a delivery at once: the immutable ones,
// and the pricing. A field that cannot be read, such as an id sealed under a key that is gone, is null and hides no other.

import { z } from 'zod'
import { pricingOf } from '../../model/messages/dated-pricing.ts'
import type { Pricing } from '../../model/messages/pricing.ts'
import type { Redis } from '../../redis/connect.ts'
import { messageKey } from '../../redis/keys.ts'
import { defineScriptOfMany } from '../../redis/lua.ts'
import { countedClassSchema, FIELD, shownProviderId, storedType, typeSchema } from '../messages/record-format.ts'

/** Records read in one step: some 0.2 ms of Redis. */
const AT_ONCE = 100

const script = defineScriptOfMany(import.meta.url, 'message-facts')
const READ = [
  ...([FIELD.class, FIELD.type, FIELD.campaign, FIELD.run, FIELD.providerId, FIELD.to, FIELD.pricing] as const),
  FIELD.reference,
] as const
const replies = z.array(z.unknown())
const text = z.string().nullable()
const price = z.string().transform(pricingOf).nullable()
const stored = z.tuple([countedClassSchema.nullable(), typeSchema.nullable(), text, text, text, text, price, text])

/** The fields of a message that its events have. */
export interface MessageFacts {
  class: z.infer<typeof countedClassSchema> | null
  kind: z.infer<typeof typeSchema> | null
  group: string | null
  /** The client's own text. */
  reference: string | null
  /** Number of its campaign. */
  run: number | null
  providerId: string | null
  /** WhatsApp's latest pricing. */
  pricing: Pricing | null
  /** Its recipient was erased: WhatsApp's texts about it, which may name them, are left out. */
  isForgotten: boolean
}

/** The facts of these messages of one lane, in their order; undefined of one that is not kept any more, or is unreadable. */
export async function readFacts(
  redis: Redis,
  lane: number,
  ulids: readonly string[],
): Promise<(MessageFacts | undefined)[]> {
  const lots: Promise<unknown>[] = []
  for (let at = 0; at < ulids.length; at += AT_ONCE) {
    const each = ulids.slice(at, at + AT_ONCE).map((ulid) => ({ keys: { record: messageKey(lane, ulid) }, args: {} }))
    lots.push(script(redis, {}, { fields: READ }, each))
  }
  return (await Promise.all(lots)).flatMap((reply) => replies.parse(reply).map(factsOf))
}

function factsOf(values: unknown): MessageFacts | undefined {
  const read = stored.safeParse(values).data
  if (read === undefined || read.every((value) => value === null)) return undefined
  const [of, type, group, run, providerId, to, pricing, reference] = read
  const number = run === null ? null : Number(run)
  return {
    class: of,
    kind: storedType(type ?? undefined, number ?? undefined) ?? null,
    group,
    reference,
    run: number,
    providerId: providerId === null ? null : shownProviderId(providerId),
    pricing: pricing ?? null,
    isForgotten: to === '',
  }
}
