// Pins: that somebody wants no advertising, or wants it again, is acknowledged once as many replicas as are required know of
// it, however it was said: over HTTP, or with a stop word. Real: Redis with a replica, HTTP, producer.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { PHONE_NUMBER_ID, type Service, startService, type Tenant } from '../support/service.ts'
import { contactsOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

let service: Service
let tenant: Tenant
let key: string
let replica: RedisServer | undefined
const dir = mkdtempSync(join(tmpdir(), 'laneway-replica-'))
beforeAll(async () => {
  service = await startService({ worker: false, env: { LANEWAY_REDIS_MIN_REPLICAS: '1' } })
  tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  key = await tenant.key('contacts:write')
})
afterAll(async () => {
  await service?.close()
  await replica?.stop()
  rmSync(dir, { recursive: true, force: true })
})

async function ask(method: string, path: string, body?: object): Promise<number> {
  return (await service.api.as(key).request(method, path, body)).status
}
const add = (person: string) => ask('POST', '/opt-outs', { person })
const remove = (person: string) => ask('DELETE', `/opt-outs/${person}`)

const heard = z.object({ delivered: z.boolean() })
async function hear(from: string, text: string): Promise<boolean> {
  const body = JSON.stringify({ sender: `${PHONE_NUMBER_ID}1`, from, text })
  return heard.parse(await (await fetch(`${service.simulator.url}/_inbound`, { method: 'POST', body })).json())
    .delivered
}

// A replica has a second. One that is slower has a request refused, which is then made again.

const isHeard = (from: string, text: string) => eventually(() => hear(from, text), `${text} is acknowledged`)
const isRemoved = (person: string) =>
  eventually(async () => {
    const status = await remove(person)
    // It was removed by one that was refused.
    if (status === 404) await add(person)
    return status === 200
  }, 'its end is acknowledged')

// A cluster of tests has no replicas, and a server of its own cannot join it.
test.skipIf(process.env.LANEWAY_TEST_REDIS === 'cluster')(
  'an opt-out and its end are acknowledged only once the required replicas have them',
  async () => {
    expect(await add('+491520558001')).toBe(503)
    expect(await hear('+491520558002', 'stop')).toBe(false)
    expect(await remove('491520558001')).toBe(503)

    replica = await startRedisServer(dir, { settings: { replicaof: `127.0.0.1 ${service.server.port}` } })
    const there = new Redis(replica.url)
    try {
      const { optOuts } = contactsOf(there, tenant.account)
      const isThere = async (person: string) => (await optOuts.timeOf(person)) !== null
      await eventually(async () => (await add('+491520558003')) === 201, 'the replica follows')
      expect(await isThere('491520558003')).toBe(true)
      await isHeard('+491520558004', 'stop')
      expect(await isThere('491520558004')).toBe(true)
      // The webhook that was answered 503 comes again.
      await eventually(() => isThere('491520558002'), 'the first stop word is heard')
      // WhatsApp tells whole seconds, and of one second the stop counts.
      const stoppedAt = Date.now()
      await eventually(async () => Date.now() >= stoppedAt + 1_000, 'a later second')
      await isHeard('+491520558004', 'start')
      expect(await isThere('491520558004')).toBe(false)
      await isRemoved('491520558003')
      expect(await isThere('491520558003')).toBe(false)
    } finally {
      there.disconnect()
    }
  },
)
