// The state that people are shown, which is not always the stored one. Pure.
import type { State } from './lifecycle.ts'

const UNSENT: ReadonlySet<State> = new Set(['failed', 'expired', 'cancelled'])

/**
 * Once a message was repeated in doubt, that its repeat failed, expired or was cancelled proves nothing about the attempt
 * before, which may have gone out: whoever is shown `failed` sends it again.
 */
export const shownState = ({ state, repeats }: { state: State; repeats: number }): State =>
  repeats > 0 && UNSENT.has(state) ? 'unknown' : state
