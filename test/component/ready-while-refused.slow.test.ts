// Pins: /readyz asks Redis and writes nothing. While Redis answers and takes no writes it is 200 at first, and 503 `no_worker` once the
// workers have not been able to report for ten seconds. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Service, startService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: Service
beforeAll(async () => {
  service = await startService({})
})
afterAll(() => service?.close())

async function ready(): Promise<string> {
  const answer = await fetch(`${service.url}/readyz`)
  const body = JSON.stringify(await answer.json())
  return `${answer.status} ${/no_worker|unavailable|ready/.exec(body)?.[0]}`
}

test('while Redis is full, producers are ready until workers count as dead, and again soon after', async () => {
  await eventually(async () => (await ready()) === '200 ready', 'it is ready')
  await service.redis.config('SET', 'maxmemory', '1')
  expect(await ready()).toBe('200 ready')
  await eventually(async () => (await ready()) === '503 no_worker', 'no worker can report')
  await service.redis.config('SET', 'maxmemory', '0')
  await eventually(async () => (await ready()) === '200 ready', 'it is ready again')
})
