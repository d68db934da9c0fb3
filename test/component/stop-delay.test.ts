// Pins: a producer that was asked to stop says so at /readyz before its port closes, and serves everything else until then.
// Real: Redis, HTTP, a second producer, the metrics port. Stood in for: the end of the delay.
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { loadConfig } from '../../src/kernel/config.ts'
import { startProducer } from '../../src/producer/main.ts'
import { startMetricsPort } from '../../src/start/metrics-port.ts'
import { createTelemetry } from '../../src/telemetry/telemetry.ts'
import { silentLog } from '../support/app.ts'
import { slowness } from '../support/machine.ts'
import { audioTo } from '../support/messages.ts'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: Service
beforeAll(async () => {
  service = await startService()
})
afterAll(() => service?.close())

const startAnother = async (delaySeconds: string) => {
  const { dataDir } = service.config
  const env = { PORT: '0', LANEWAY_DATA_DIR: dataDir, LANEWAY_STOP_DELAY_SECONDS: delaySeconds }
  return startProducer(loadConfig(env), service.server.url, silentLog)
}

test('a stopping producer is not ready, and accepts messages until its port closes', async () => {
  const tenant = await service.addTenant()
  const producer = await startAnother('1')
  await eventually(async () => (await fetch(`${producer.url}/readyz`)).status === 200, 'it is ready')
  // The delay ends when the test is done: what it asks meanwhile may take longer.
  let endDelay = (): void => {}
  const wait = vi.spyOn(globalThis, 'setTimeout').mockImplementationOnce(((work: () => void) => {
    endDelay = work
  }) as typeof setTimeout)
  const closed = producer.close()
  const [delay] = wait.mock.calls
  wait.mockRestore()
  expect(delay).toEqual([expect.any(Function), 1_000])
  const ready = await fetch(`${producer.url}/readyz`)
  expect([ready.status, await ready.json()]).toMatchObject([503, { error: { code: 'stopping' } }])
  expect((await fetch(`${producer.url}/healthz`)).status).toBe(200)
  const sent = await fetch(`${producer.url}/sendservicemessages/sendmessages`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ api_key: tenant.apiKey, ...audioTo('+491700000001') }),
  })
  // A client that keeps its connections opens the next one elsewhere.
  expect([sent.status, sent.headers.get('connection')]).toEqual([200, 'close'])
  endDelay()
  await closed
  await expect(fetch(`${producer.url}/healthz`)).rejects.toThrow()
})

test('without a delay the port closes at once', async () => {
  const took: number[] = []
  for (let i = 0; i < 3; i += 1) {
    const producer = await startAnother('0')
    const begunAt = performance.now()
    await producer.close()
    took.push(performance.now() - begunAt)
  }
  // Whatever comes in between only adds to one.
  expect(Math.min(...took)).toBeLessThan(1_000 * (await slowness()))
})

test('a delay that leaves no time to stop in order is refused', () => {
  expect(() => loadConfig({ LANEWAY_STOP_DELAY_SECONDS: '9' })).toThrow(/LANEWAY_STOP_DELAY_SECONDS is "9"/)
})

test('the metrics port of a stopping process reports that it is not ready', async () => {
  const port = await startMetricsPort(
    { metricsPort: 0, metricsHost: '127.0.0.1' },
    service.server.url,
    createTelemetry(),
    silentLog,
  )
  const ready = async () => (await fetch(`${port.url}/readyz`)).status
  await eventually(async () => (await ready()) === 200, 'it is ready')
  port.announce()
  expect(await ready()).toBe(503)
  expect((await fetch(`${port.url}/healthz`)).status).toBe(200)
  port.close()
})
