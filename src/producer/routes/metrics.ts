// Metrics for whoever has an admin key. Those of the whole installation are on LANEWAY_METRICS_PORT, see docs/operations.md.
import { route } from '../route.ts'

export const metrics = {
  metrics: route({
    method: 'get',
    path: '/metrics',
    summary: "Tells how the account's lanes stand, for Prometheus.",
    access: { in: 'bearer', permission: 'admin' },
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/plain'] } },
    examples: [{ status: 200 }],
  }),
}
