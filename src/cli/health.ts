// health: whether messages are accepted and sent, as `/readyz` of a producer reports it, also where no producer can be reached.

import { counted } from '../kernel/fault.ts'
import { workersAlive } from '../redis/heartbeats.ts'
import { type Verb, verb } from './verb.ts'

export const verbs: readonly Verb[] = [
  verb({
    usage: 'show',
    isDefault: true,
    summary:
      'show whether Redis answers and how many workers are alive; exits with 1 when none is. A producer answers the same at /readyz',
    example: '--json',
    values: {},
    async run(_values, { redis }) {
      const workers = await workersAlive(redis)
      const isReady = workers > 0
      return {
        json: { ready: isReady, workers },
        text: isReady
          ? `Redis answers, and ${counted(workers, 'worker')} ${workers === 1 ? 'is' : 'are'} alive.`
          : 'Redis answers.',
        fails: isReady ? undefined : 'No worker is alive: messages are accepted and wait.',
      }
    },
  }),
]
