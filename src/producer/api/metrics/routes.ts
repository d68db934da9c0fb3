// Metrics for whoever has an admin key, and of the whole installation for an operator; those are on
// LANEWAY_METRICS_PORT too, see docs/guides/operating/monitoring.md.
import { route } from '../../route.ts'

export const metrics = {
  metrics: route({
    method: 'get',
    path: '/metrics',
    summary: "Tells how the account's lanes stand, for Prometheus.",
    details: 'A key with `operator` that names no account gets what the process knows of the whole installation.',
    access: { in: 'bearer', permission: 'admin', withoutAccount: true },
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/plain'] } },
    examples: [{ status: 200 }],
  }),
}
