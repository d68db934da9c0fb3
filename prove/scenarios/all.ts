// Every scenario, the longest first, so that the short ones fill the gaps.
import type { Scenario } from '../scenario.ts'
import { workerKills } from './worker-kill.ts'

export const SCENARIOS: readonly Scenario[] = [...workerKills]
