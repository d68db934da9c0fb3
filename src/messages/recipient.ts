// To whom a message goes: a phone number, or the business-scoped user id of a person who shows no number.
import { type ParsedPhone, PHONE_LENGTH_MAX, parsePhone } from './phone.ts'

/** Country, `ENT` for one that holds across a business's portfolios, and up to 128 letters and digits. */
const USER_ID = /^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/

/** Longest text that names a recipient. */
export const RECIPIENT_LENGTH_MAX = Math.max(PHONE_LENGTH_MAX, 'US.ENT.'.length + 128)

/** Whether a text is a user id, as the chat product gives them out. */
export const isUserId = (text: unknown): text is string => typeof text === 'string' && USER_ID.test(text)

/** A user id as it is, else what `parsePhone` makes of it: `digits` is what names the person from then on. */
export const parseRecipient = (input: unknown): ParsedPhone =>
  isUserId(input) ? { ok: true, digits: input } : parsePhone(input)
