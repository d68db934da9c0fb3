// Why an opt-out holds from its answer on, although workers check opt-outs before a message leaves and not in the step that claims it: a
// check is valid for LOOK_GOOD_FOR_MS, and a message that leaves later is checked again, also by a process that was frozen meanwhile. A
// caller that confirms an opt-out first waits longer than that, so that every earlier check has expired. No coordination with workers is
// needed.

import { setTimeout as pause } from 'node:timers/promises'

/** Counted from before the check was sent, and also while the machine is suspended (deadline.ts). */
export const LOOK_GOOD_FOR_MS = 500
/** Longer by the time that a request needs to reach WhatsApp, and by the possible difference of clocks. */
const HOLD_MS = 550

/** Resolves once no advertising leaves to those whose opt-outs were written before. */
export const optOutsHold = (): Promise<void> => pause(HOLD_MS)
