// One person has several names: a number, user ids, and what they were known by before. Which names are one person's is learned
// from WhatsApp, in whatever order it tells; what is learned of a set of names is decided here.
import { isUserId } from '../../messages/recipient.ts'

/**
 * The names of one person: the number first, if it is known, then user ids, the latest first, then numbers that were theirs
 * before.
 */
export type Names = readonly string[]

/** Most names that are kept of a person: a number, a user id, that of a parent account, and some of before. */
export const NAMES_MAX = 6

/** What WhatsApp tells of a person: names that they have now, and, where one has changed, what it was before. */
export interface Naming {
  names: Names
  before?: string | undefined
}

const isNumber = (name: string | undefined): boolean => name !== undefined && !isUserId(name)

/** The person who is known by this name, by what is kept with it: all their other names in their order. */
export function personOf(name: string, others: Names): Names {
  const [number, ...rest] = others
  if (!isNumber(number)) return [name, ...others]
  return isUserId(name) ? [number ?? '', name, ...rest] : [...others, name]
}

/**
 * Brings what is learned into `known`, which has the names of each person under every name that is looked at here; who has
 * one name only need not be in it. Telling it again changes nothing.
 */
export function learn(known: Map<string, Names>, { names, before }: Naming): void {
  const named = before === undefined ? names : [...names, before]
  const people = new Set(named.map((name) => known.get(name) ?? [name]))
  // What is kept of a name ends by itself: the others of the person may have outlasted it.
  const isWhole = (person: Names): boolean =>
    person.every((name) => (known.get(name) ?? [name]).join() === person.join())
  const areTheirs = (person: Names): boolean => named.every((name) => person.includes(name))
  if (before === undefined && [...people].some((person) => areTheirs(person) && isWhole(person))) return
  const number = names.find(isNumber)
  const former = number === undefined ? undefined : known.get(number)
  const isPassedOn = former?.[0] !== number && !named.some((name) => name !== number && former?.includes(name))
  if (former !== undefined && number !== undefined && before === undefined && isPassedOn) {
    // It was theirs before, and belongs to another person now.
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

function keep(known: Map<string, Names>, person: Names): void {
  for (const name of person) known.set(name, person)
}
