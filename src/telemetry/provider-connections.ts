// How many connections to providers a process has open, as Prometheus takes it: counted when it asks.
import { Gauge, type Registry } from 'prom-client'

/** Connections of one kind that are open. */
export interface OpenConnections {
  origin: string
  protocol: string
  count: number
}

/** The gauge, in this registry, of all that is watched. `watch` returns what ends that. */
export function createConnectionGauge(registry: Registry): { watch(counts: () => OpenConnections[]): () => void } {
  const watched = new Set<() => OpenConnections[]>()
  new Gauge({
    name: 'laneway_provider_connections',
    help: 'Connections to providers that are open, by protocol; of this worker.',
    labelNames: ['origin', 'protocol'] as const,
    registers: [registry],
    collect() {
      this.reset()
      for (const counts of watched) {
        for (const { origin, protocol, count } of counts()) this.inc({ origin, protocol }, count)
      }
    },
  })
  return {
    watch(counts) {
      watched.add(counts)
      return () => watched.delete(counts)
    },
  }
}
