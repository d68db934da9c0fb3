// What a change of state is counted as. Pure.
import { PROVEN_SENT, type State } from '../messages/lifecycle.ts'

/** States that are counted when a message comes into them; on its way there it is `queued` and `sending`. */
export type CountedState = Exclude<State, 'queued' | 'sending'>

const SENT: readonly State[] = PROVEN_SENT
const isCounted = (state: State): state is CountedState => state !== 'queued' && state !== 'sending'

/**
 * The states that a message has come into. One that is read before anybody told that it was delivered was delivered and
 * sent as well, so that sent is never less than delivered, nor delivered less than read.
 */
export function enteredStates(from: State | undefined, to: State): readonly CountedState[] {
  if (from === to || !isCounted(to)) return []
  if (!SENT.includes(to)) return [to]
  const before = from === undefined ? -1 : SENT.indexOf(from)
  return PROVEN_SENT.slice(before + 1, SENT.indexOf(to) + 1)
}
