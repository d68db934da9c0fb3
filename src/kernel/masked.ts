// Masks phone numbers, ids and tokens in a provider's sentence, for logs and lists.

/** Five digits or more, also when they are grouped as people write numbers. */
const NUMBER = /\d(?:[\s().+-]{0,2}\d){4,}/g
/** Longer than any word: a token or an opaque id. */
const SECRET = /[\w-]{20,}/g

/** A code of WhatsApp as our sentences write it; no phone number is that short. */
const CODE = /\(code \d{1,6}\)/.source
const CODE_OR_NUMBER = new RegExp(`(${CODE})|${NUMBER.source}`, 'g')

/** The text with numbers of five digits or more replaced by `…`. */
export const withoutNumbers = (text: string): string => text.replace(NUMBER, '…')

/** The sentence with numbers of five digits or more but codes, and whatever looks like a token, replaced by `…`. */
export const masked = (sentence: string): string =>
  sentence.replace(SECRET, '…').replace(CODE_OR_NUMBER, (_, code?: string) => code ?? '…')
