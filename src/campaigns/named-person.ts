// Whether a text that somebody has written names a person. Pure.
import { parseListedPhone } from '../messages/phone.ts'

/** What people write between the digits of a number. */
const BETWEEN = String.raw`(?:\(0\)|[ ().\-/[\]\u00a0]){0,8}`

const DIGITS = /^\d+$/
const spaced = (digits: string): string => [...digits].join(BETWEEN)

/**
 * The source of a regular expression for a person anywhere in a text: the digits of a number, as people space them, or an
 * id as it stands.
 */
export function numberPattern(person: string): string {
  if (!DIGITS.test(person)) return `(?<!\\w)${person.replaceAll('.', '\\.')}(?!\\w)`
  return `(?<!\\d)(?:00${BETWEEN})?${spaced(person)}(?!\\d)`
}

/** What separates the values of a line, whoever wrote it. */
const VALUES = /[,;|\t\n":{}]/

/** Looks for one person in texts. */
export function createPersonFinder(person: string) {
  // The library takes 4 µs for a number: only what ends like the one that is looked for is read by it.
  const end = person.slice(-6)
  const pattern = new RegExp(numberPattern(person))
  const endPattern = DIGITS.test(person) ? new RegExp(spaced(end)) : pattern
  const digitsOf = (cell: string): string | undefined => {
    const parsed = parseListedPhone(cell.trim())
    return parsed.ok ? parsed.digits : undefined
  }
  const is = (cell: string): boolean => cell.replace(/\D/g, '').endsWith(end) && digitsOf(cell) === person
  return {
    /** Whether the cell is the person's number, in whatever spelling. */
    is,
    /** Whether it is worth the time to look for the person in the text. */
    mayStandIn: (text: string): boolean => endPattern.test(text),
    /** Whether the person's number, or id, stands somewhere in the text. */
    standsIn: (text: string): boolean => endPattern.test(text) && (pattern.test(text) || text.split(VALUES).some(is)),
    /** Whether the cell is somebody's number. */
    isSomebody: (cell: string): boolean => digitsOf(cell) !== undefined,
  }
}
