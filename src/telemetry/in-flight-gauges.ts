// How many messages a worker has in flight, of how many it may, as Prometheus takes it: counted when it asks.
import { Gauge, type Registry } from 'prom-client'

/** Messages of a worker that are claimed or in flight. */
export interface InFlight {
  inFlight: number
  maxInFlight: number
}

/** The gauges, in this registry, of all workers of the process; without one they tell nothing. `watch` returns what ends that. */
export function createInFlightGauges(registry: Registry): { watch(count: () => InFlight): () => void } {
  const watched = new Set<() => InFlight>()
  const gauge = (name: string, help: string, value: (of: InFlight) => number) =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        // A reset would leave a 0.
        this.remove()
        for (const count of watched) this.inc(value(count()))
      },
    })
  gauge(
    'laneway_worker_in_flight',
    'Messages of all lanes that are claimed or in flight; of this worker.',
    (of) => of.inFlight,
  )
  gauge(
    'laneway_worker_in_flight_max',
    'How many may be, LANEWAY_MAX_IN_FLIGHT; of this worker.',
    (of) => of.maxInFlight,
  )
  return {
    watch(count) {
      watched.add(count)
      return () => watched.delete(count)
    },
  }
}
