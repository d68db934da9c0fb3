// Pins: an account whose waiting messages cannot be counted, because a server of the cluster is away, sends on with what was
// counted last.
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { laneIdsOf } from '../../src/accounts/senders.ts'
import { roomToWait } from '../../src/messages/accept/waiting-quota.ts'
import { connectFailFast, type Redis } from '../../src/redis/connect.ts'
import { accountRecord, sendersOf } from '../support/state/accounts.ts'
import { type RedisCluster, startRedisCluster } from '../testbed/redis-cluster.ts'

let cluster: RedisCluster
let redis: Redis
beforeAll(async () => {
  cluster = await startRedisCluster(mkdtempSync(join(tmpdir(), 'laneway-quota-')))
  redis = connectFailFast(cluster.url)
  // To all of its servers.
  await vi.waitFor(splitAccount, 300_000)
})
afterAll(async () => {
  redis?.disconnect()
  await cluster?.stop()
})

/** An account whose record another server has than the list of its senders. */
async function splitAccount(): Promise<number> {
  for (;;) {
    const id = await createAccount(redis, 'split')
    const kept = [accountRecord(redis, id), sendersOf(redis, id)]
    const [record, senders] = await Promise.all(kept.map((each) => each.at(cluster.primaryOf)))
    if (record !== senders) return id
  }
}

test('a count that fails for a while is replaced by the last one, and a limit still applies', async () => {
  const account = await splitAccount()
  // So little that it is counted again for nearly each message.
  const most = 3
  await roomToWait(redis, account, most, 1)
  const victim = await sendersOf(redis, account).at(cluster.primaryOf)
  await victim.kill9()
  await vi.waitFor(() => expect(laneIdsOf(redis, account)).rejects.toThrow(), 300_000)
  // Until the last count is too old to be used.
  await vi.waitFor(async () => expect(await roomToWait(redis, account, most, 2)).toBeTypeOf('function'), 300_000)
  await expect(roomToWait(redis, account, most, 1)).rejects.toMatchObject({ code: 'too_many_waiting' })
})
