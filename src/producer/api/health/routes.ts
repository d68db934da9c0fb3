// Health: whether the process lives, and whether the service works.
import { z } from 'zod'
import { one } from '../answers.ts'
import { routesOf } from '../define.ts'

const route = routesOf({ access: { in: 'open', why: 'tells nothing but whether the service works' } })

export const health = {
  alive: route.get('/healthz', 'Answers as long as the process lives.', { examples: [{ says: 'alive' }] }),
  ready: route.get('/readyz', 'Checks that Redis answers, a worker is alive, and the producer is not stopping.', {
    answers: one(z.strictObject({ workers: z.int().positive() })),
    errors: { 503: ['no_worker', 'stopping'] },
    examples: [{ says: 'ready', data: { workers: 2 } }],
  }),
}
