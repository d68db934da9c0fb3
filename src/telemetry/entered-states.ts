// What a change of state is counted as. Pure.
import { PROVEN_SENT, type State } from '../messages/lifecycle.ts'

/** States that are counted when a message comes into them; on its way there it is `queued` and `sending`. */
export type CountedState = Exclude<State, 'queued' | 'sending'>

const rankOf = (state: State | undefined): number => PROVEN_SENT.findIndex((each) => each === state)

/**
 * The states that a message has come into. One that is read before anybody told that it was delivered was delivered and
 * sent as well, so that sent is never less than delivered, nor delivered less than read.
 */
export function enteredStates(from: State | undefined, to: State): readonly CountedState[] {
  if (from === to || to === 'queued' || to === 'sending') return []
  const rank = rankOf(to)
  return rank < 0 ? [to as CountedState] : PROVEN_SENT.slice(rankOf(from) + 1, rank + 1)
}
