// Why an opt-out holds from its answer on, although workers ask for opt-outs before a message leaves and not in the step
// that claims it. What a worker was told is good for LOOK_GOOD_FOR_MS: what leaves later is asked for again, also by a
// process that was frozen meanwhile. Whoever answers that somebody has opted out first waits for longer than that, so that
// everything that was told before has lost its force. No worker is waited for, and none has to be heard of.
import { setTimeout as pause } from 'node:timers/promises'

/** Counted from before the question was sent, and also while the machine is suspended (deadline.ts). */
export const LOOK_GOOD_FOR_MS = 200
/** Longer by what a request that has left may need until the chat product has it, and clocks may disagree. */
const HOLD_MS = 250

/** Resolves once no advertising leaves to those whose opt-outs were written before. */
export const optOutsHold = (): Promise<void> => pause(HOLD_MS)
