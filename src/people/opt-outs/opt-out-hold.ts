// Why an opt-out holds from its answer on, although workers check opt-outs before a message leaves and not in the step that claims it: a
// check is valid for a short time (check-validity.ts), and a message that leaves later is checked again, also by a process that was
// frozen meanwhile. A caller that confirms an opt-out first waits longer than that, so that every earlier check has expired.

import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from '../../redis/connect.ts'
import { rootKeys } from '../../redis/keys.ts'
import { CHECK_GOOD_FOR_MS, SLOW_CHECK_GOOD_FOR_MS } from './check-validity.ts'

/** The time that a request needs to reach WhatsApp, and the possible difference of clocks. */
const MARGIN_MS = 50

/**
 * Resolves once no advertising leaves to those whose opt-outs were written before: after half a second, or after 2.5 s while a
 * worker's checks are slow. Never rejects: the opt-outs are written, so it waits the longer time when it cannot find out.
 */
export async function optOutsHold(redis: Redis): Promise<void> {
  const areSlow = await redis.exists(rootKeys.slowChecks).catch(() => 1)
  await pause((areSlow === 0 ? CHECK_GOOD_FOR_MS : SLOW_CHECK_GOOD_FOR_MS) + MARGIN_MS)
}
