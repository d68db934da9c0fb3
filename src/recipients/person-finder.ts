// Whether a text names a person. Pure.

import { parseListedPhone } from '../kernel/recipient.ts'

/** What people write between the digits of a number. */
const BETWEEN = String.raw`(?:\(0\)|[ ().\-/[\]\u2212\p{Cf}\p{Pd}\p{Z}]){0,8}`

const DIGITS = /^\d+$/
const spaced = (digits: string): string => [...digits].join(BETWEEN)

/**
 * The source of a regular expression for a person anywhere in a text: the digits of a number, as people space them, or an
 * id as it stands.
 */
export function numberPattern(person: string): string {
  if (!DIGITS.test(person)) return `(?<!\\w)${person.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?!\\w)`
  return `(?<!\\d)(?:00${BETWEEN})?${spaced(person)}(?!\\d)`
}

/** What separates the values of a line, whichever program wrote it. */
const VALUES = /[,;|\t\n":{}]/

/** Looks for one person in texts. */
export function createPersonFinder(person: string) {
  // The library takes 4 µs for a number: only cells that end like the wanted one are parsed.
  const end = person.slice(-6)
  const pattern = new RegExp(numberPattern(person), 'u')
  const endPattern = DIGITS.test(person) ? new RegExp(spaced(end), 'u') : pattern
  const digitsOf = (cell: string): string | undefined => {
    const parsed = parseListedPhone(cell.trim())
    return parsed.ok ? parsed.digits : undefined
  }
  const is = (cell: string): boolean => cell.replace(/\D/g, '').endsWith(end) && digitsOf(cell) === person
  return {
    /** Whether the cell is the person's number, in whatever spelling. */
    is,
    /** Whether the text may name the person: a cheap check before the search. */
    mayStandIn: (text: string): boolean => endPattern.test(text),
    /** Whether the text contains the person's number or id. */
    standsIn: (text: string): boolean => endPattern.test(text) && (pattern.test(text) || text.split(VALUES).some(is)),
    /** Whether the cell is somebody's number. */
    isSomebody: (cell: string): boolean => digitsOf(cell) !== undefined,
  }
}
