// Metrics for Prometheus. LANEWAY_METRICS_PORT may serve them too, see docs/guides/operating/monitoring.md.
import { routesOf } from '../define.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } })

export const metrics = {
  metrics: route.get('/metrics', 'Shows the metrics of the account’s lanes, for Prometheus.', {
    details: 'A key with `operator` that names no account gets the metrics of the whole installation.',
    answers: { 200: { contentTypes: ['text/plain'] } },
  }),
}
