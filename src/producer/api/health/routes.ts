// Health and metrics. LANEWAY_METRICS_PORT may serve the metrics too, see docs/guides/operating/monitoring.md.
import { z } from 'zod'
import { one } from '../answers.ts'
import { routesOf } from '../define.ts'

const open = routesOf({ access: { in: 'open', why: 'shows only whether the service works' } })

export const health = {
  alive: open.get('/healthz', 'Answers as long as the process lives.', { examples: [{ says: 'alive' }] }),
  ready: open.get('/readyz', 'Checks that Redis answers, a worker is alive, and the producer is not stopping.', {
    answers: one(z.strictObject({ workers: z.int().positive() })),
    errors: { 503: ['no_worker', 'stopping'] },
    examples: [{ says: 'ready' }],
  }),
}

const keyed = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })

export const metrics = {
  metrics: keyed.get('/metrics', 'Shows the metrics of the account’s lanes, for Prometheus.', {
    details: 'A key with `operator` that names no account gets the metrics of the whole installation.',
    answers: { 200: { contentTypes: ['text/plain'] } },
  }),
}
