// health: whether messages are accepted and sent, as `/readyz` of a producer reports it, also where no producer can be reached.

import { counted } from '../kernel/fault.ts'
import { ALIVE_FOR_MS, workersAlive } from '../redis/heartbeats.ts'
import { type Verb, verb } from './verb.ts'

/** What counts as alive: a worker that was killed still does for a moment. */
const LATELY = `within the last ${ALIVE_FOR_MS / 1_000} s`

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show',
    isDefault: true,
    summary:
      `show whether Redis answers and how many workers have reported ${LATELY}; exits with 1 when none has. ` +
      'A producer answers the same at /readyz',
    example: '--json',
    values: {},
    async run(_values, { redis }) {
      const workers = await workersAlive(redis)
      const isReady = workers > 0
      return {
        json: { ready: isReady, workers },
        text: isReady
          ? `Redis answers, and ${counted(workers, 'worker')} ${workers === 1 ? 'has' : 'have'} reported ${LATELY}.`
          : 'Redis answers.',
        fails: isReady ? undefined : 'No worker is alive: messages are accepted and wait.',
      }
    },
  }),
]
