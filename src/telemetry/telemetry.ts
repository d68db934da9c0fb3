// Everything that a process counts and exports, in one piece: made once per process, given to
// its parts.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { collectDefaultMetrics, type MetricObjectWithValues, type MetricValue, Registry } from 'prom-client'
import { z } from 'zod'
import type { Log } from '../kernel/log.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import type { Redis } from '../redis/connect.ts'
import { withTimeout } from '../redis/errors.ts'
import { both, observe } from '../redis/observe.ts'
import { createGauges } from './gauges.ts'
import { createHistoryBuffer } from './history.ts'
import { LANE_MEASURES } from './lane-measures.ts'
import { createLaneLabels, createMetrics, createWorkerGauges } from './metrics.ts'
import { writeHistory } from './store/history.ts'
import { measureLanes } from './store/installation.ts'

/** How often a process writes what it has counted: so many seconds of history a kill takes with it. */
const WRITE_MS = 3_000
/** How often the worker that sweeps measures what waits. */
const MEASURE_MS = 10_000

const described = z.object({ name: z.string(), type: z.string(), help: z.string(), labelNames: z.array(z.string()) })

/** A stop waits for Redis so long. */
const LAST_WRITE_MS = 1_000

export type Telemetry = ReturnType<typeof createTelemetry>

/** Nothing counted yet. `ofProcess`: also metrics of Node and the process, for a process that is ours alone. */
export function createTelemetry({ ofProcess = false, clock = () => performance.now() } = {}) {
  const labelOf = createLaneLabels()
  const registry = new Registry()
  const metrics = createMetrics(registry, labelOf)
  const history = createHistoryBuffer()
  const gauges = createGauges(registry, labelOf, clock)
  const { watchConnections, watchInFlight } = createWorkerGauges(registry)
  if (ofProcess) collectDefaultMetrics({ register: registry })
  const observer = both(metrics, history.observer)
  /** Parts of one process share the buffer, and of each lane an earlier batch must be written before a later one. */
  let lastWrite: Promise<unknown> = Promise.resolve()

  return {
    contentType: registry.contentType,

    /**
     * Counts from now on what is written over this connection, and writes the history over it. With `isSweeper`, measures
     * what waits whenever that returns true. `stop` writes what is left, and rejects when Redis does not take it within a
     * second.
     */
    start(redis: Redis, log: Log, isSweeper?: () => boolean): { stop: () => Promise<void> } {
      observe(redis, observer)
      const write = async (): Promise<void> => {
        const written = lastWrite.catch(() => undefined).then(() => writeHistory(redis, history))
        lastWrite = written
        const lost = await written
        if (lost > 0) log.warn({ periods: lost }, 'history.lost')
      }
      const writing = repeatedly(WRITE_MS, write, log)
      const measuring =
        isSweeper && repeatedly(MEASURE_MS, async () => (isSweeper() ? measureLanes(redis, history) : undefined), log)
      return {
        async stop() {
          writing.stop()
          measuring?.stop()
          await withTimeout(LAST_WRITE_MS, write())
        },
      }
    },

    /** Tells from now on, until the function that it returns is called, how many connections to providers are open. */
    watchConnections,

    /** The same of how many messages a worker of this process has in flight, and how many it may. */
    watchInFlight,

    /** All that the process knows, in Prometheus' text format. Reads Redis at most every 5 s. Never rejects. */
    async text(redis: Redis): Promise<string> {
      await gauges.refresh(redis)
      const blocks: string[] = []
      for (const { name } of registry.getMetricsAsArray()) {
        blocks.push(await registry.getSingleMetricAsString(name))
        // A thousand lanes are some thousand lines for one counter.
        await nextTurn()
      }
      blocks.push(await gauges.textOfLanes())
      return `${blocks.join('\n\n')}`
    },

    /** The same of the lanes and portfolios of one account. */
    async textOfAccount(redis: Redis, account: number): Promise<string> {
      await gauges.refresh(redis)
      const counted = await textOfSeries(registry, (labels) => gauges.accountOf(labels) === account)
      return `${counted}\n${await gauges.textOfOwn(account)}`
    },

    /** All metrics that there are. */
    describe: () => [
      ...z.array(described).parse(registry.getMetricsAsArray()),
      ...LANE_MEASURES.map(({ name, help, label }) => ({
        name,
        help,
        type: 'gauge',
        labelNames: label === undefined ? ['lane'] : ['lane', label],
      })),
    ],
  }
}

/** Those series of a registry; what has neither a lane nor a portfolio concerns the operator. */
async function textOfSeries(
  registry: Registry,
  isOwn: (labels: MetricValue<string>['labels']) => boolean,
): Promise<string> {
  const metrics: MetricObjectWithValues<MetricValue<string>>[] = await registry.getMetricsAsJSON()
  const blocks = metrics.flatMap(({ name, help, type, values }) => {
    const own = values.filter(({ labels }) => isOwn(labels))
    if (own.length === 0) return []
    const lines = own.map(({ labels, value }) => {
      const shown = Object.entries(labels).map(([label, text]) => `${label}="${escaped(String(text))}"`)
      return `${name}{${shown.join(',')}} ${value}`
    })
    // prom-client's types are strings, whatever its declarations call them.
    return `# HELP ${name} ${help}\n# TYPE ${name} ${String(type)}\n${lines.join('\n')}\n`
  })
  return blocks.join('\n')
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')
