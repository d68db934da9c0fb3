// A person has several names: a number, user ids, and former ones. WhatsApp reports, in any order, which names belong to one person;
// this file merges such a report into what is known.
import { isUserId } from '../../kernel/recipient.ts'

/**
 * The names of one person: the number first, if it is known, then user ids, the latest first, then numbers that were theirs
 * before.
 */
export type Names = readonly string[]

/** Most names that are kept of a person: a number, a user id, that of a parent account, and some of before. */
export const NAMES_MAX = 6

/** A report of a person's names: those of now, and the former one where one has changed. */
export interface Naming {
  names: Names
  before?: string | undefined
  /** It came with the report of a message. It adds names, but never merges persons that are known to differ. */
  isReported?: boolean
  /** The recipient of that message, where the answer names them. */
  sentTo?: string | undefined
}

const isNumber = (name: string | undefined): boolean => name !== undefined && !isUserId(name)

/** The person of this name, from what is stored with it: all their other names in order. */
export function personOf(name: string, others: Names): Names {
  const [number, ...rest] = others
  if (!isNumber(number)) return [name, ...others]
  return isUserId(name) ? [number ?? '', name, ...rest] : [...others, name]
}

/**
 * Merges a report into `known`, which has the names of each person under every name concerned; a person with one name need not be in
 * it. Idempotent.
 */
export function learn(known: Map<string, Names>, naming: Naming): void {
  const { before } = naming
  const names = naming.isReported && before === undefined ? believable(known, naming) : naming.names
  if (names.length === 0) return
  const named = before === undefined ? names : [...names, before]
  const people = new Set(named.map((name) => known.get(name) ?? [name]))
  // Each stored name expires separately: the person's others may have outlasted it.
  const isWhole = (person: Names): boolean =>
    person.every((name) => (known.get(name) ?? [name]).join() === person.join())
  const areTheirs = (person: Names): boolean => named.every((name) => person.includes(name))
  if (before === undefined && [...people].some((person) => areTheirs(person) && isWhole(person))) return
  const number = names.find(isNumber)
  const former = number === undefined ? undefined : known.get(number)
  const isPassedOn = former?.[0] !== number && !named.some((name) => name !== number && former?.includes(name))
  if (former !== undefined && number !== undefined && before === undefined && isPassedOn) {
    // A former name of theirs that belongs to another person now.
    people.delete(former)
    keep(
      known,
      former.filter((name) => name !== number),
    )
  }
  const all = [...names, ...[...people].flat()]
  const current = all.find(isNumber)
  const inOrder = [...(current === undefined ? [] : [current]), ...all.filter(isUserId), ...all.filter(isNumber)]
  const person = [...new Set(inOrder)]
  for (const name of person.slice(NAMES_MAX)) keep(known, [name])
  keep(known, person.slice(0, NAMES_MAX))
}

/**
 * The names of a report that can belong to one person, given what is known. A user id that has another number now may have been
 * answered for everybody, and so may a number that has another user id if it comes with an answer to somebody without one. A person's
 * own act, or a reported change, is trusted.
 */
function believable(known: ReadonlyMap<string, Names>, { names, sentTo }: Naming): Names {
  const isOfAnother = (name: string): boolean => {
    const [current, ...others] = known.get(name) ?? [name]
    if (isUserId(name)) return current !== undefined && isNumber(current) && !names.includes(current)
    return isUserId(sentTo) && others.some(isUserId) && !others.includes(sentTo)
  }
  const left = names.filter((name) => !isOfAnother(name))
  return left.length > 1 ? left : []
}

function keep(known: Map<string, Names>, person: Names): void {
  for (const name of person) known.set(name, person)
}
