// The state that a record has, from the state that people are shown. Pure.

import { LETTERS, type State } from '../../model/messages/lifecycle.ts'

/** Letters of the stored states that can be shown as this one: of messages that were not repeated in doubt, and that were. */
export function lettersOf(state: State): { once: string; repeated: string } {
  const letter = LETTERS[state]
  const unsent: readonly string[] = [LETTERS.failed, LETTERS.expired, LETTERS.cancelled]
  switch (state) {
    case 'unknown':
      return { once: letter, repeated: [letter, ...unsent].join('') }
    case 'expired':
      // What waits past its validity is shown as expired before a step records it.
      return { once: letter + LETTERS.queued, repeated: LETTERS.queued }
    default:
      return { once: letter, repeated: unsent.includes(letter) ? '' : letter }
  }
}
