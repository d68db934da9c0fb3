// What the body of a provider's answer says. The acknowledgement of a message has the same shape on both wires.
import { z } from 'zod'
import { withoutByteOrderMark } from '../kernel/byte-order-mark.ts'
import { cutText } from '../kernel/cut-text.ts'
import { withoutNumbers } from '../kernel/masked.ts'
import { isUserId, parsePerson } from '../kernel/recipient.ts'
import type { CallEnd } from '../model/messages/outcome.ts'
import { closeConnectionOf, type HttpEnd } from './http-call.ts'

/** Longer than any id seen (WhatsApp's have some 60 characters); it is kept on the record and in every poll. */
const ID_MAX = 512

const schema = z.object({ messages: z.array(z.looseObject({ id: z.string() })).min(1) })

/**
 * The contents of a success: the provider's id of the message, or `of_another`: it echoes another recipient than `to`, so it
 * answers another request, for example because a proxy sent one answer too many. Undefined for any other answer.
 */
function acceptedBy(
  status: number,
  body: unknown,
  to: string,
):
  | { kind: 'accepted'; providerId: string; isHeld?: true; knownAs?: string[]; word?: string }
  | 'of_another'
  | undefined {
  if (status < 200 || status >= 300) return undefined
  const message = onlyMessage(body) ?? schema.safeParse(body).data?.messages[0]
  if (message === undefined || !isProviderId(message.id)) return undefined
  const { input, others } = echoedNames(body)
  const isNamed = input !== undefined || others.length > 0
  if (isNamed && !isSame(input ?? '', to) && !others.some((name) => isSame(name, to))) return 'of_another'
  const state = 'message_status' in message ? message.message_status : ACCEPTED
  const isHeld = state === HELD
  const word = state === ACCEPTED || isHeld ? undefined : wordOf(state)
  const knownAs = others.flatMap((name) => otherName(name, to) ?? [])
  const accepted = { kind: 'accepted', providerId: message.id } as const
  if (!isHeld && knownAs.length === 0 && word === undefined) return accepted
  return {
    ...accepted,
    ...(isHeld && { isHeld }),
    ...(knownAs.length > 0 && { knownAs }),
    ...(word !== undefined && { word }),
  }
}

/** WhatsApp takes it as usual. */
const ACCEPTED = 'accepted'
/** WhatsApp holds it to measure how people react to the template; a webhook brings the decision. */
const HELD = 'held_for_quality_assessment'

/** Longest word of WhatsApp that is kept. */
const WORD_MAX = 64
/** An unknown word, such as `paused`: kept to be shown. Undefined for none. */
function wordOf(state: unknown): string | undefined {
  const text = typeof state === 'string' ? state : JSON.stringify(state)
  const plain = withoutNumbers(text ?? '').replace(/\p{C}+/gu, ' ')
  const word = cutText(plain.trim(), WORD_MAX)
  return word === '' || state === null ? undefined : word
}

/**
 * The message of an answer about one, which is what every send gets: the schema gives the same result, for a twentieth of
 * what a message costs. Undefined for anything else, which the schema then judges.
 */
function onlyMessage(body: unknown): { id: string } | undefined {
  if (typeof body !== 'object' || body === null || !('messages' in body) || !Array.isArray(body.messages))
    return undefined
  const [message, ...others]: unknown[] = body.messages
  if (typeof message !== 'object' || message === null || !('id' in message) || others.length > 0) return undefined
  return hasId(message) ? message : undefined
}

const hasId = (message: { id: unknown }): message is { id: string } => typeof message.id === 'string'

/** Whether a text can be the provider's id of a message, which is kept and shown: blanks and control characters cannot. */
export const isProviderId = (id: string): boolean => id.length <= ID_MAX && /\S/.test(id) && !/\p{Cc}/u.test(id)

/**
 * How the echo repeats the recipient, and what else it calls them, if there is one: for WhatsApp some numbers are others than
 * those that people write. By hand: each send has one.
 */
function echoedNames(body: unknown): { input: string | undefined; others: string[] } {
  const contact = firstContact(body)
  const text = (name: string): string | undefined => {
    const held: unknown = contact === undefined ? undefined : Reflect.get(contact, name)
    return typeof held === 'string' ? held : undefined
  }
  const others = [text('wa_id'), text('user_id')].filter((each) => each !== undefined)
  return { input: text('input'), others }
}

function firstContact(body: unknown): object | undefined {
  if (typeof body !== 'object' || body === null || !('contacts' in body) || !Array.isArray(body.contacts))
    return undefined
  const [contact]: unknown[] = body.contacts
  return typeof contact === 'object' && contact !== null ? contact : undefined
}

/** Numbers of one person end alike, however they are written. */
const isSame = (name: string, to: string): boolean =>
  name === to || (!isUserId(to) && endOf(digitsOf(name)) === endOf(to))
const endOf = (digits: string): string => digits.slice(-6)
const digitsOf = (number: string): string => number.replace(/\D/g, '').replace(/^00/, '')

/**
 * What of an echo is another name of the recipient, as we write it; undefined for their own in any spelling, and for what is none.
 * Nearly all are their own, and nothing of those is parsed.
 */
function otherName(name: string, to: string): string | undefined {
  if (name === to) return undefined
  const isId: boolean = isUserId(name)
  if (isId) return name
  const digits = digitsOf(name)
  if (digits === to || (!isUserId(to) && !isOtherForm(digits, to))) return undefined
  const ours = parsePerson(name.startsWith('00') ? digits : name)
  return ours === to ? undefined : ours
}

/**
 * Whether two numbers may be national forms of one, with a digit or three more in it: of one that is merely alike a stand-in that
 * answers one number for all recipients would make one person with them.
 */
const isOtherForm = (one: string, other: string): boolean =>
  one.slice(0, 2) === other.slice(0, 2) &&
  endOf(one) === endOf(other) &&
  one.length !== other.length &&
  Math.abs(one.length - other.length) <= 3

/**
 * A provider's answer as JSON, or undefined when it is none. What comes out is still to be checked by a schema. A byte order
 * mark is let pass: it must not make an acknowledgement one that proves nothing.
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(withoutByteOrderMark(text))
  } catch {
    return undefined
  }
}

/** What the wire's own error envelope says. */
export interface Refused {
  code: number | undefined
  subcode?: number | undefined
  text: string | undefined
}

/** How a send ended. `refusedBy` reads a body; undefined for one that is not the wire's own error envelope. */
export function readSend(end: HttpEnd, to: string, refusedBy: (body: unknown) => Refused | undefined): CallEnd {
  if (end.kind !== 'answer') return end
  const { status, retryAfterMs } = end
  const body = parseJson(end.body)
  const accepted = acceptedBy(status, body, to)
  if (accepted === 'of_another') {
    closeConnectionOf(end)
    return { kind: 'unanswered', cause: 'answer_of_another' }
  }
  if (accepted) return accepted
  const refused = refusedBy(body)
  const { code, subcode, text } = refused ?? {}
  return { kind: 'answered', status, readable: refused !== undefined, code, subcode, text, retryAfterMs }
}
