// A person as a path or a body names them.
import { parsePerson } from '../../people/person.ts'
import { invalid } from '../errors.ts'

/** Digits with country code, or a user id; throws a 400 that names the field. */
export function personOf(text: string): string {
  const person = parsePerson(text)
  if (person !== undefined) return person
  const message = 'expected a full international number such as +14155550123, or the id of a person without one'
  throw invalid([{ path: 'person', message }])
}
