// Who a person is to us: the digits of a number, or the id that WhatsApp gives a person without one. Pure.
import { parsePhone } from '../messages/recipient.ts'

const USER_ID = /^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/

/** Digits with country code, no plus, or a user id; undefined for any other text. */
export function parsePerson(text: string): string | undefined {
  if (USER_ID.test(text)) return text
  const phone = parsePhone(text)
  return phone.ok ? phone.digits : undefined
}
