// Pins: who sees which metrics, that they tell what is so, that no number or text is in them, and that looking costs
// Redis next to nothing however often and at however many lanes. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { messageId } from '../../src/kernel/message-id.ts'
import { startMetricsPort } from '../../src/start/metrics-port.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { silentLog } from '../support/app.ts'
import { type LaneRedis, newId, startLaneRedis } from '../support/lane-redis.ts'
import { readPage, tableUnder } from '../support/pages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { dueLanes, lanesKnown, senderRecord } from '../support/state/accounts.ts'
import { putInLine } from '../support/state/lanes.ts'
import { eventually } from '../support/wait.ts'

const audio = { type: 'audio', audio: { link: 'https://example.com/secret-track.mp3' } }
const TO = '+491700000001'

/** The value of a series, by its name and labels as they are written; undefined when it is not there. */
const seriesValue = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((each) => each.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length))
}

describe('GET /metrics of the producer', () => {
  let service: Service
  let mine: Tenant
  let theirs: Tenant
  beforeAll(async () => {
    service = await startService()
    mine = await service.addTenant()
    theirs = await service.addTenant()
    for (const { apiKey } of [mine, theirs]) {
      const answer = await service.post('/sendservicemessages/sendmessages', {
        ...{ messaging_product: 'chatapp', recipient_type: 'individual', to: TO, ...audio, api_key: apiKey },
      })
      expect(answer.status).toBe(200)
    }
  })
  afterAll(() => service?.close())

  const metrics = (key?: string) => service.api.as(key).get('/metrics')

  test('is for an admin key only', async () => {
    expect((await metrics()).status).toBe(401)
    expect((await metrics(mine.apiKey)).status).toBe(403)
  })

  test('shows the lanes of its account, and no other lane or process', async () => {
    const answer = await metrics(await mine.key('admin'))
    const { text } = answer
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4')
    const accepted = `laneway_messages_total{lane="${mine.partnerLane}",class="transactional",state="accepted"}`
    expect(seriesValue(text, accepted)).toBe(1)
    const named = new Set(Array.from(text.matchAll(/lane="(\w+)"/g), ([, lane]) => Number(lane)))
    expect([...named].filter((lane) => lane !== mine.partnerLane && lane !== mine.cloudLane)).toEqual([])
    expect(text).not.toMatch(/process_|nodejs_|laneway_redis/)
  })

  test('contains no number, name or text of a message', async () => {
    const { text } = await metrics(await mine.key('admin'))
    expect(text).not.toMatch(/secret-track|491700000001|49170000|partner-api|tenant/)
  })
})

describe('the metrics port', () => {
  let service: Service
  let tenant: Tenant
  beforeAll(async () => {
    service = await startService({ worker: false })
    tenant = await service.addTenant()
  })
  afterAll(() => service?.close())

  /** One on any free port. */
  const open = (env: { metricsPort?: number } = { metricsPort: 0 }) =>
    startMetricsPort(
      { metricsHost: '127.0.0.1', metricsPort: env.metricsPort },
      service.server.url,
      createTelemetry(),
      silentLog,
    )

  test('is closed unless it is asked for', async () => {
    const port = await open({})
    expect(port.url).toBeUndefined()
    port.close()
  })

  test('is refused in one sentence when another program uses it', async () => {
    const first = await open()
    const taken = Number(new URL(first.url ?? '').port)
    await expect(open({ metricsPort: taken })).rejects.toThrow(/LANEWAY_METRICS_PORT/)
    first.close()
  })

  test('answers health checks without a key, and has no other address or method', async () => {
    const { url, close } = await open()
    try {
      const statusOf = async (path: string, method = 'GET') => (await fetch(`${url}${path}`, { method })).status
      expect(await statusOf('/healthz')).toBe(200)
      expect(await statusOf('/readyz')).toBe(503)
      await service.startWorker()
      await eventually(async () => (await statusOf('/readyz')) === 200, 'ready')
      expect(await statusOf('/metrics')).toBe(200)
      expect(await statusOf('/')).toBe(404)
      expect(await statusOf('/constructor')).toBe(404)
      expect(await statusOf('/metrics', 'POST')).toBe(405)
    } finally {
      close()
      await service.stopWorker()
    }
  })

  test('shows what waits, how old the oldest message is and how long the lane needs', async () => {
    const { url, close } = await open()
    try {
      const lane = tenant.partnerLane
      await senderRecord(service.redis, lane).change({ rate: 2 })
      await service.post('/sendservicemessages/sendmessages', {
        ...{ messaging_product: 'chatapp', recipient_type: 'individual', to: TO, ...audio, api_key: tenant.apiKey },
      })
      const text = await eventually(async () => {
        const found = await (await fetch(`${url}/metrics`)).text()
        return seriesValue(found, `laneway_lane_waiting{lane="${lane}",class="transactional"}`) === 1 && found
      }, 'the message in the metrics')
      expect(
        seriesValue(text, `laneway_lane_oldest_waiting_seconds{lane="${lane}",class="transactional"}`),
      ).toBeGreaterThan(0)
      expect(seriesValue(text, `laneway_lane_seconds_to_drain{lane="${lane}"}`)).toBe(0.5)
      expect(seriesValue(text, 'laneway_workers')).toBe(0)
      expect(seriesValue(text, 'laneway_redis_up')).toBe(1)
    } finally {
      close()
    }
  })
})

test('while Redis is away the metrics show that in time, and no figures from before', async () => {
  const lanes = await startLaneRedis()
  // Each scrape reads anew.
  let clock = 0
  const telemetry = createTelemetry({
    clock: () => {
      clock += 10_000
      return clock
    },
  })
  const port = await startMetricsPort(
    { metricsHost: '127.0.0.1', metricsPort: 0 },
    lanes.server.url,
    telemetry,
    silentLog,
  )
  await eventually(
    async () => seriesValue(await (await fetch(`${port.url}/metrics`)).text(), 'laneway_redis_up') === 1,
    'up',
  )
  await lanes.close()
  const text = await eventually(async () => {
    const found = await (await fetch(`${port.url}/metrics`)).text()
    return seriesValue(found, 'laneway_redis_up') === 0 && found
  }, 'down')
  expect(seriesValue(text, 'laneway_lanes')).toBeUndefined()
  expect((await fetch(`${port.url}/readyz`)).status).toBe(503)
  port.close()
})

describe('with 1,000 lanes that have work', () => {
  const LANES = 1_000
  let lanes: LaneRedis
  beforeAll(async () => {
    lanes = await startLaneRedis()
    const { redis } = lanes
    const filled: Promise<unknown>[] = []
    for (let lane = 1; lane <= LANES; lane += 1) {
      filled.push(
        dueLanes(redis).put(0, lane),
        lanesKnown(redis).change({ [lane]: '1' }),
        senderRecord(redis, lane).change({ rate: '80' }),
        putInLine(redis, lane, messageId(lane, newId(lane).ulid)),
      )
    }
    await Promise.all(filled)
  })
  afterAll(() => lanes?.close())

  /** How often a lane was looked at. */
  const looks = async (): Promise<number> =>
    Number(/cmdstat_evalsha:calls=(\d+)/.exec(await lanes.redis.info('commandstats'))?.[1] ?? 0)

  test('scrapes within 5 s read once, each lane with one script', async () => {
    let nowMs = 0
    const telemetry = createTelemetry({ clock: () => nowMs })
    const scrape = () => telemetry.text(lanes.redis)
    await scrape()
    const before = await looks()
    nowMs = 4_999
    await Promise.all(Array.from({ length: 20 }, scrape))
    expect((await looks()) - before).toBe(0)
    nowMs = 5_000
    const texts = await Promise.all(Array.from({ length: 20 }, scrape))
    // One more is the clock, for how many workers are alive.
    expect((await looks()) - before).toBe(LANES + 1)
    expect(Array.from((texts[0] ?? '').matchAll(/^laneway_lane_paused\{/gm))).toHaveLength(LANES)
  })

  /** What a scrape may cost at most, in the CPU time that as many plain reads take in the same run as it has lanes. */
  const LOOKING = 50
  const REPEATING = 10

  test('a scrape costs no more CPU time than some dozen reads of each lane, and a cached one next to none', async () => {
    let nowMs = 0
    const telemetry = createTelemetry({ clock: () => nowMs })
    const cpuMs = async (work: () => Promise<unknown>): Promise<number> => {
      const before = process.cpuUsage()
      await work()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / 1_000
    }
    const scrape = () => telemetry.text(lanes.redis)
    const reads = () => Promise.all(Array.from({ length: LANES }, (_, i) => lanes.redis.hget('none', String(i))))
    const looking: number[] = []
    const repeating: number[] = []
    const reading: number[] = []
    for (let i = 0; i < 6; i += 1) {
      nowMs += 5_000
      looking.push(await cpuMs(scrape))
      repeating.push(await cpuMs(scrape))
      reading.push(await cpuMs(reads))
    }
    // Whatever else the machine does only adds to it. A slower machine is slower at both.
    expect(Math.min(...repeating) / Math.min(...reading)).toBeLessThan(REPEATING)
    expect(Math.min(...looking) / Math.min(...reading)).toBeLessThan(LOOKING)
  })
})

test('the table of metrics in docs/reference/metrics.md matches the registry', async () => {
  const telemetry = createTelemetry()
  const rows = tableUnder(readPage('docs/reference/metrics.md'), 'All metrics')
  const unquoted = (cell = '') => cell.replaceAll('`', '')
  const told = telemetry
    .describe()
    .map(({ name, type, labelNames }) => [name, type, labelNames.length === 0 ? 'none' : labelNames.join(', ')])
  const documented = rows.map(([name, type, labels]) => [unquoted(name), type, unquoted(labels)])
  expect(documented.sort()).toEqual(told.sort())
})
