// The format of a message's record: a hash with fields of one letter, because a million of them are kept for weeks.
// Only this file knows the letters; scripts have them as `FIELD.state` as well (message-script.ts). `load` in
// message-lifecycle.lua reads what a step needs.
import { z } from 'zod'
import { restoreProviderId, shortenProviderId } from '../../kernel/message-id.ts'
import { openTextOr, sealText } from '../../kernel/sealed.ts'
import { CONTENT_TYPES, type Content, type MessageClass } from '../../model/messages/content.ts'
import { pricingOf } from '../../model/messages/dated-pricing.ts'
import { STATES, stateOf } from '../../model/messages/lifecycle.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import { jsonText, sealedText } from '../../redis/records.ts'
import type { NewMessage } from './new-message.ts'

/**
 * The letter that each field of a record is stored under. That of a field which is gone is never used again: records that
 * have it are kept for weeks, and processes of the earlier release run beside new ones. `z` was once a packed text.
 */
export const FIELD = {
  /** Letter of the state. */
  state: 's',
  /** Id of the attempt that counts; empty before the first claim. */
  attempt: 'a',
  /** Tries that ended proven unsent and count. */
  tries: 'n',
  /** Times it was queued again although it may have gone out. */
  repeats: 'o',
  /** Other attempts: `s` for sent or `f` for failed before the id of each, `sAAAAAA,fBBBBBB`. */
  others: 'b',
  /** Packed history, see src/model/messages/history.ts. */
  history: 'h',
  /** Recipient: digits with country code; sealed (see src/kernel/sealed.ts) where there is a data key. */
  to: 't',
  /** Missing for a template of a campaign, which its `run` implies. */
  type: 'k',
  /** May be sealed. Missing for a message of a campaign. */
  text: 'x',
  /**
   * Of a campaign's message: the values filled in, from which its text is made (recipients/campaign-content.ts); may be sealed.
   */
  filled: 'v',
  /** See `CLASS`. */
  class: 'y',
  /** Epoch ms. */
  validUntil: 'u',
  /** Epoch ms, of a scheduled message. */
  sendAt: 'l',
  /** Grouping id of the request. */
  campaign: 'g',
  /** The client's own text on it. */
  reference: 'd',
  /** Number of the campaign of ours that it belongs to. */
  run: 'r',
  /** WhatsApp's own id, once known, shortened; it has the number in it, and is sealed as that. */
  providerId: 'w',
  /** `code|sentence`, the sentence sealed. */
  problem: 'e',
  /** Until when its recipient has had enough marketing (epoch ms), where it failed for that. */
  cappedUntil: 'j',
  /** How often Laneway sent it again after that. */
  waves: 'q',
  /** Since when WhatsApp holds back what was sent (epoch ms). */
  heldSince: 'z',
  /** WhatsApp's latest pricing and its time, see src/model/messages/dated-pricing.ts. */
  pricing: 'c',
  /** A word of WhatsApp's acknowledgement that we do not know. */
  messageStatus: 'm',
  /** The payload of its job, kept until the message is delivered; of a campaign's message only while it may be sent again. */
  payload: 'p',
} as const

/** A state from the letter it is stored under. */
export const stateSchema = z.string().transform(stateOf).pipe(z.enum(STATES))

/** The letter that each class is stored under. */
export const CLASS = { transactional: 't', campaign: 'c' } as const satisfies Record<MessageClass, string>
/** The class from its letter, for counting: any other value counts as transactional. */
const countedClassOf = (letter: unknown): MessageClass => (letter === CLASS.campaign ? 'campaign' : 'transactional')
export const countedClassSchema = z.string().transform(countedClassOf)

const TYPES = {
  ...{ text: 'x', interactive: 'n', image: 'i', audio: 'a', video: 'v', document: 'd', sticker: 's' },
  ...{ location: 'l', contacts: 'c', reaction: 'r', template: 't' },
} as const satisfies Record<Content['type'], string>
const TYPE_OF = new Map(Object.entries(TYPES).map(([type, letter]): [string, string] => [letter, type]))
/** A type from its letter. */
export const typeSchema = z
  .string()
  .transform((stored) => TYPE_OF.get(stored))
  .pipe(z.enum(CONTENT_TYPES))

/** Separates the values filled in: a control character, which nobody types. */
const SEPARATOR = '\x1F'
/** First characters of JSON and of a sealed text. */
const NOT_JOINED = /^[[\uE000-\uF8FF]/
const listText = jsonText.pipe(z.array(z.string()))
const filledText = z.string().transform((text, context): string[] => {
  if (!text.startsWith('[')) return text.split(SEPARATOR)
  const list = listText.safeParse(text)
  if (list.success) return list.data
  context.addIssue('is no list of texts')
  return z.NEVER
})

const problemSchema = z.string().transform((stored): Problem => {
  const at = stored.indexOf('|')
  return { code: stored.slice(0, at), sentence: openTextOr(stored.slice(at + 1), '') }
})

const NAME_OF = new Map<string, string>(Object.entries(FIELD).map(([name, letter]) => [letter, name]))

/** A record from the hash that Redis has. */
export const recordSchema = z
  .preprocess(
    (hash) => Object.fromEntries(Object.entries(hash ?? {}).map(([letter, value]) => [NAME_OF.get(letter), value])),
    z.object({
      state: stateSchema,
      attempt: z.string().default(''),
      tries: z.coerce.number().int().default(0),
      repeats: z.coerce.number().int().default(0),
      others: z.string().default(''),
      history: z.string().default(''),
      to: sealedText.prefault(''),
      type: typeSchema.optional(),
      text: sealedText.prefault(''),
      filled: sealedText.pipe(filledText).optional(),
      class: z.enum(CLASS).transform(countedClassOf),
      validUntil: z.coerce.number(),
      sendAt: z.coerce.number().optional(),
      campaign: z.string().optional(),
      reference: z.string().optional(),
      run: z.coerce.number().int().optional(),
      providerId: sealedText.transform(restoreProviderId).optional(),
      problem: problemSchema.optional(),
      cappedUntil: z.coerce.number().int().optional(),
      heldSince: z.coerce.number().int().optional(),
      pricing: z.string().transform(pricingOf).optional(),
      messageStatus: z.string().optional(),
      payload: z.string().optional(),
    }),
  )
  .transform((record, context) => {
    const type = storedType(record.type, record.run)
    if (type === undefined) context.addIssue({ code: 'custom', path: ['type'], message: 'is missing' })
    return type === undefined ? z.NEVER : { ...record, type }
  })
export type MessageRecord = z.infer<typeof recordSchema>

/** The type of a message whose record has these; undefined where neither shows it. */
export const storedType = <Type extends Content['type']>(type: Type | undefined, run: number | undefined) =>
  type ?? (run === undefined ? undefined : 'template')

/** A problem as it is stored, sealed because WhatsApp's text may repeat the number. */
export const storedProblem = ({ code, sentence }: Problem): string => `${storable(code)}|${sealText(sentence)}`

/** `|` separates events of the history and the parts of a problem. */
export const storable = (text: string): string => text.replaceAll('|', '/')

/** The fields of a new record besides its progress: field, value, … */
export const newRecordFields = (message: NewMessage): string[] => [...ownFields(message), ...commonFields(message)]

/** What each message of a campaign has for itself, as its record has it: the recipient, and either its text or the values filled in. */
export const storedContent = ({ to, text, filled }: NewMessage) =>
  filled === undefined ? { to: sealText(to), text: sealText(text) } : { to: sealText(to), filled: filledField(filled) }

function ownFields(message: NewMessage): string[] {
  const { to, text, filled } = storedContent(message)
  return [FIELD.to, to, ...(filled === undefined ? [FIELD.text, text] : [FIELD.filled, filled])]
}

/** Those that all messages of a campaign have alike. */
export const commonFields = (message: NewMessage): string[] => [
  ...(storedType(undefined, message.run) === message.type ? [] : [FIELD.type, TYPES[message.type]]),
  ...[FIELD.class, CLASS[message.class]],
  ...[FIELD.validUntil, String(message.validUntil)],
  ...(message.sendAt === undefined ? [] : [FIELD.sendAt, String(message.sendAt)]),
  ...(message.campaign === undefined ? [] : [FIELD.campaign, message.campaign]),
  ...(message.reference === undefined ? [] : [FIELD.reference, message.reference]),
  ...(message.run === undefined ? [] : [FIELD.run, String(message.run)]),
  ...(message.again ? [FIELD.repeats, '1'] : []),
]

/** The values filled in, as they are stored: joined, or as JSON if they could not be split again. */
function filledField(filled: readonly string[]): string {
  const joined = filled.join(SEPARATOR)
  const isPlain = joined !== '' && !NOT_JOINED.test(joined) && joined.split(SEPARATOR).length === filled.length
  return sealText(isPlain ? joined : JSON.stringify(filled))
}

/** WhatsApp's id, as it is stored. */
export const providerIdField = (id: string): string => sealText(shortenProviderId(id))

/** The id to show from a stored one; null when no key opens it. */
export const shownProviderId = (stored: string): string | null => restoreProviderId(openTextOr(stored, '')) || null
