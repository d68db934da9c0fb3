// Who types: what is written down of a change made on the command line.
import { userInfo } from 'node:os'

/** The name of whoever is logged in. */
export function userName(): string {
  try {
    return userInfo().username
  } catch {
    // A container may run under a number that has no name.
    return String(process.getuid?.() ?? '')
  }
}

/** The same as the sentence of a pause has it. */
export const personHere = (): string => `${userName()} on the command line`
