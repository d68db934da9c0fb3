// Who types: what is written down of a change made on the command line.
import { userInfo } from 'node:os'

/** The user that the system knows, where it knows one. */
export function personHere(): string {
  try {
    return `${userInfo().username} on the command line`
  } catch {
    // A container may run as a user without a name.
    return 'the command line'
  }
}
