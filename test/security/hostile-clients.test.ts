// Pins: no request of any size or shape, sent many times at once, ends the producer, keeps others waiting, or fills its
// memory. The full size, with the figures: npm run prove -- --only hostile-clients
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { sendAtOnce } from '../../prove/hostile/raw-client.ts'
import { hostileRequests } from '../../prove/hostile/requests.ts'
import { watchProcess } from '../../prove/hostile/watch.ts'
import { APP_SECRET, type HostileGround, startHostileGround } from '../support/hostile-producer.ts'

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 })

const AT_ONCE = 25
/** Far above what is promised, because other tests run beside this one, and far below what each of these once took. */
const HEALTH_MS = 4_000
const MEMORY_MB = 400

let ground: HostileGround
beforeAll(async () => {
  ground = await startHostileGround()
})
afterAll(() => ground?.stop())

test('the producer lives, answers others, and stays small under each hostile request', async () => {
  const victim = {
    apiKey: ground.key,
    inventedKey: ground.inventedKey,
    appSecret: APP_SECRET,
    mediaPath: ground.mediaPath,
  }
  const watch = watchProcess(ground.url, ground.process.pid)
  await watch.look()
  const told: string[] = []
  for (const request of hostileRequests(victim)) {
    const answers = await sendAtOnce(ground.url, request, AT_ONCE)
    const { slowestMs, mostMb, failures } = await watch.look()
    told.push(`${request.name}: ${slowestMs.toFixed(0)} ms, ${mostMb.toFixed(0)} MB, ${JSON.stringify(answers)}`)
    expect({ name: request.name, failures }, told.join('\n')).toEqual({ name: request.name, failures: 0 })
    expect(slowestMs, told.join('\n')).toBeLessThan(HEALTH_MS)
    expect(mostMb, told.join('\n')).toBeLessThan(MEMORY_MB)
    expect(answers['500'], told.join('\n')).toBeUndefined()
  }
  watch.stop()
  expect(ground.faults()).toEqual([])
})
