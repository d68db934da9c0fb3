// Recipients: a phone number as a person types it, or the business-scoped user id of a person who shows no number.
import {
  getCountries,
  getCountryCallingCode,
  Metadata,
  type PhoneNumber,
  parsePhoneNumberFromString,
} from 'libphonenumber-js/min'
import { counted, wrongKind } from './fault.ts'
import { mainForm, twoForms } from './national-forms.ts'

/** Digits with country code and no plus, or why the text is no number. The sentence never repeats the number. */
export type ParsedPhone = { ok: true; digits: string } | { ok: false; message: string }

/**
 * Longer than any number with all its punctuation; keeps a text of 200 kB away from the expression below and from the
 * library.
 */
const PHONE_LENGTH_MAX = 64
/** The same, with the prefixes that files use. */
const LISTED_LENGTH_MAX = PHONE_LENGTH_MAX + 16

/** One plus at the start; digits; spaces, dashes, dots and brackets anywhere. No letters, so no extension either. */
const tolerated = /^[ ()[\]]*\+?[0-9 ().[\]-]*$/

/**
 * Any space or dash as the plain one, and without formatting characters: phones and chat windows put them around a number that is
 * copied.
 */
export const plainSpelling = (text: string): string =>
  /^[ -~]*$/.test(text)
    ? text
    : text
        .replace(/\p{Cf}/gu, '')
        .replace(/\p{Z}/gu, ' ')
        .replace(/[\p{Pd}\u2212]/gu, '-')

/**
 * Reads a full international number, with or without the plus: `+1 (415) 555-0123` and `14155550123` are the same.
 * Accepted is what is possible by length and country code, not only what is known to be assigned: numbering plans
 * change faster than libraries, and WhatsApp decides anyway. About 4 µs, nearly all of it in the library.
 */
export function parsePhone(input: unknown): ParsedPhone {
  if (typeof input !== 'string') return { ok: false, message: wrongKind('a string', input) }
  if (input.length > PHONE_LENGTH_MAX) return refused(`has ${input.length} characters`)
  const typed = tolerated.test(input) ? input : plainSpelling(input)
  if (!tolerated.test(typed)) {
    return refused('has other characters than digits, a leading plus, spaces, dashes, dots and brackets')
  }
  const digits = todaysMexican(typed.replace(/[^0-9]/g, ''))
  if (digits === '') return refused('has no digits')
  const number = parsePhoneNumberFromString(`+${digits}`, { extract: false })
  if (number === undefined) return refused('begins with no known country code, or is too short')
  if (!number.isPossible()) return twoForms(digits) ? { ok: true, digits } : refused(lengthOf(number))
  return { ok: true, digits: digitsOf(number) }
}

/** A number as a spreadsheet writes one that it took for a quantity; undefined for any other text. */
export function spreadsheetFault(cell: string): string | undefined {
  if (/^[0-9]+([.,][0-9]+)?E\+?[0-9]+$/i.test(cell)) {
    return 'the spreadsheet has rounded this number; format the column as text'
  }
  if (/^[0-9]+[.,]0{1,2}$/.test(cell)) {
    return 'the spreadsheet has written this number as a decimal; format the column as text'
  }
  return undefined
}

/**
 * The number in a row of a file, where `0044…` and `tel:+44…` are `+44…` too: no country code begins with a zero. So is
 * `'+44…`, as spreadsheets mark a text.
 */
export function parseListedPhone(cell: string): ParsedPhone {
  const message = spreadsheetFault(cell)
  if (message !== undefined) return { ok: false, message }
  if (cell.length > LISTED_LENGTH_MAX) return refused(`has ${cell.length} characters`)
  return parsePhone(plainSpelling(cell).replace(/^ *['\u2018\u2019]? *(tel:)? *(00(?=[ ().-]*[1-9]))?/i, ''))
}

/**
 * The library's spelling, not ours: it also drops a national prefix left inside, as in `+49 (0)171 …`,
 * so that the same person has the same digits however the number was typed.
 */
function digitsOf(number: PhoneNumber): string {
  return number.number.slice(1)
}

/**
 * Mexico dropped the mobile 1 after its country code, and the library calls the old form impossible, yet
 * WhatsApp still delivers inbound messages from it: a client that answers one sends the old form back to us.
 */
const todaysMexican = (digits: string): string => (digits.startsWith('52') ? mainForm(digits) : digits)

/** `has 4 digits after the country code, numbers of +1 have 10`: the country itself is not named. */
function lengthOf({ country, countryCallingCode: code, nationalNumber }: PhoneNumber): string {
  const digits = counted(nationalNumber.length, 'digit')
  const plan = country ?? getCountries().find((each) => getCountryCallingCode(each) === code)
  if (plan === undefined) return `has ${digits} after the country code, which no number of +${code} has`
  const metadata = new Metadata()
  metadata.selectNumberingPlan(plan)
  const lengths = metadata.numberingPlan?.possibleLengths() ?? []
  return `has ${digits} after the country code, numbers of +${code} have ${spans(lengths)}`
}

/** `7, 9 to 11`. */
function spans(lengths: readonly number[]): string {
  const ends = lengths.filter((length) => !lengths.includes(length + 1))
  const starts = lengths.filter((length) => !lengths.includes(length - 1))
  return starts.map((start, i) => (start === ends[i] ? `${start}` : `${start} to ${ends[i]}`)).join(' or ')
}

function refused(reason: string): ParsedPhone {
  return { ok: false, message: `expected a full international phone number such as +14155550123; this one ${reason}` }
}

/** Country, `ENT` for one that holds across a business's portfolios, and up to 128 letters and digits. */
const USER_ID = /^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/

/** Longest text that names a recipient. */
export const RECIPIENT_LENGTH_MAX = Math.max(PHONE_LENGTH_MAX, 'US.ENT.'.length + 128)

/** Whether a text is a user id, as WhatsApp gives them out. */
export const isUserId = (text: unknown): text is string => typeof text === 'string' && USER_ID.test(text)

/** A user id as it is, else what `parsePhone` makes of it: `digits` names the person from then on. */
export function parseRecipient(input: unknown): ParsedPhone {
  if (isUserId(input)) return { ok: true, digits: input }
  const phone = parsePhone(input)
  if (phone.ok || typeof input !== 'string' || input.length > RECIPIENT_LENGTH_MAX) return phone
  const id = plainSpelling(input).trim()
  return isUserId(id) ? { ok: true, digits: id } : phone
}

/** The digits of a number in any spelling, or a user id; undefined for any other text. */
export function parsePerson(text: string): string | undefined {
  const person = parseRecipient(text)
  return person.ok ? person.digits : undefined
}

/** A text without blanks and plus that holds a letter and a figure: a mere word, such as `anonymous`, may be used for many people. */
const OTHER_ID = /^(?=.*\p{L})(?=.*\p{N})[^\p{C}\p{Z}+]+$/u

/**
 * A provider's name of a person: the digits of a number, or an id unchanged; undefined for anything else. Digits within an id
 * are no number.
 */
export function providerName(text: string): string | undefined {
  if (text.length > RECIPIENT_LENGTH_MAX) return undefined
  const plain = plainSpelling(text).trim()
  if (tolerated.test(plain)) return plain.replace(/[^0-9]/g, '') || undefined
  return isUserId(plain) || OTHER_ID.test(plain) ? plain : undefined
}

/** The same for text that was typed or copied from a list: a number in any spelling, or a name as lists show it. */
export function parseListedPerson(text: string): string | undefined {
  const person = parsePerson(text)
  if (person !== undefined) return person
  const name = providerName(text)
  if (name !== text || name === undefined) return undefined
  // A number that was typed wrong begins with a zero, is too short, or has something between its digits.
  return /\D/.test(name) || /^[1-9]\d{4,}$/.test(name) ? name : undefined
}
