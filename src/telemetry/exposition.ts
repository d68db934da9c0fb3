// The metrics that one account may see: its own lanes, in Prometheus' text format. What has no lane is of the process or
// of the whole installation, and concerns the operator.
import type { MetricObjectWithValues, MetricValue, Registry } from 'prom-client'

/** The series whose label `lane` is one of these; names without one are left out. */
export async function textOfLanes(registry: Registry, isOwn: (label: string) => boolean): Promise<string> {
  const metrics: MetricObjectWithValues<MetricValue<string>>[] = await registry.getMetricsAsJSON()
  const blocks = metrics.map(({ name, help, type, values }) => {
    const own = values.filter(({ labels }) => labels.lane !== undefined && isOwn(String(labels.lane)))
    if (own.length === 0) return ''
    const lines = own.map(({ labels, value }) => {
      const shown = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
      return `${name}{${shown.join(',')}} ${value}`
    })
    // prom-client's types are strings, whatever its declarations call them.
    return `# HELP ${name} ${help}\n# TYPE ${name} ${String(type)}\n${lines.join('\n')}\n`
  })
  return blocks.filter((block) => block !== '').join('\n')
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
