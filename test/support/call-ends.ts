// How calls to a provider end, as tests expect them.
import { expect } from 'vitest'

/** No answer came in time. On a busy machine most of that time may have passed while this process stood still. */
export const OUT_OF_TIME = { kind: 'unanswered', cause: expect.stringMatching(/^(timeout|worker_late)$/) }
