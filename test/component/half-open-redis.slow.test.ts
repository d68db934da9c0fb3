// Pins: a worker whose connections to Redis went half open, while nothing waits on its lanes, sends what comes afterwards. Real:
// Redis, HTTP, producer, worker, a proxy between the worker and Redis. Stood in for: WhatsApp.
import { afterAll, beforeAll, test } from 'vitest'
import { startWorker } from '../../src/worker/main.ts'
import { createRandom } from '../prove/random.ts'
import { startProxy, type TcpProxy } from '../prove/tcp-proxy.ts'
import { silentLog } from '../support/app.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { type Service, startService } from '../support/service.ts'

let service: Service
let line: TcpProxy
let stopWorker: (() => Promise<void>) | undefined

beforeAll(async () => {
  service = await startService({ worker: false })
  const { port } = new URL(service.server.url)
  line = await startProxy(() => Number(port), createRandom(1))
  const url = new URL(service.server.url)
  url.port = String(line.port)
  stopWorker = (await startWorker(service.config, url.href, silentLog)).close
})
afterAll(async () => {
  await stopWorker?.()
  await line?.close()
  await service?.close()
})

test('a message for an empty lane is sent although the connection on which its worker waits is dead', async () => {
  const tenant = await service.addTenant()
  await reaches(service, tenant, await sendTo(service, tenant, '+491700000001'), 'read')
  line.freezeAll()
  await reaches(service, tenant, await sendTo(service, tenant, '+491700000002'), 'read')
})
