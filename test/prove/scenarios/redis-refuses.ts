// Redis is there and refuses for some seconds, each time by another word: its save failed, a script hogs it, somebody took away
// the rights of our user or a part of them, or it became a replica. Answers of the provider come in meanwhile. They are in the
// hands of a worker that lives, so all of them must be written down afterwards: nobody is written to twice, and nothing is
// flagged.
import { readFileSync } from 'node:fs'
import { connectWithRetry, type Redis } from '../../../src/redis/connect.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'

const REFUSES_MS = 3_000
const BETWEEN_MS = 2_000

/** Makes Redis refuse; resolves to what ends that. */
type Trouble = (rig: Rig, own: Redis) => Promise<() => Promise<unknown>>

const TROUBLES: Readonly<Record<string, Trouble>> = {
  misconf: async ({ redis, store }) => {
    // A save that somebody kills counts as failed, and while one has failed nothing may be written.
    await store.config('SET', 'rdb-key-save-delay', '1000000')
    await store.config('SET', 'save', '3600 1')
    await store.bgsave()
    await eventually(() => childrenOf(redis.pid()).length > 0, 10_000, 20)
    for (const child of childrenOf(redis.pid())) process.kill(child, 'SIGKILL')
    return () => store.config('SET', 'save', '')
  },
  busy: async ({ store }, own) => {
    await store.config('SET', 'busy-reply-threshold', '50')
    void own.eval('while true do end', 0).catch(() => {})
    return () => store.script('KILL')
  },
  noperm: async ({ store }) => {
    await store.acl('SETUSER', 'default', '-@write')
    return () => store.acl('SETUSER', 'default', '+@all')
  },
  // A script breaks off in the middle: it has written a part.
  'noperm-in-part': async ({ store }) => {
    await store.acl('SETUSER', 'default', '-zadd')
    return () => store.acl('SETUSER', 'default', '+@all')
  },
  readonly: async ({ store }) => {
    // Of a primary that nobody can reach, so that it keeps what it has.
    await store.replicaof('127.0.0.1', '1')
    return () => store.replicaof('NO', 'ONE')
  },
  noreplicas: async ({ store }) => {
    await store.config('SET', 'min-replicas-to-write', '1')
    return () => store.config('SET', 'min-replicas-to-write', '0')
  },
}

export const redisRefuses: readonly Scenario[] = Object.entries(TROUBLES).map(([word, begin]) => ({
  name: `redis-refuses-${word}`,
  promise:
    'What a living worker has in hand while Redis refuses to write is written down afterwards: nothing is sent twice.',
  run: (run) =>
    onRig(
      run,
      {
        workers: 2,
        tenants: [
          { wire: 'partner-api', policy: 'at_least_once', rate: 80 },
          { wire: 'cloud-api', policy: 'at_least_once', rate: 80, campaign: true },
        ],
        // A provider that a busy machine makes slow earns no flag, and no webhook helps with evidence. Without the safeguard
        // the harm must come before the run counts as still: what is in doubt is sent again after the timeout.
        env: { LANEWAY_SEND_TIMEOUT_SECONDS: run.stillMs === undefined ? '60' : '5' },
        simulator: { SIMULATOR_WEBHOOK_URL: '' },
      },
      async (rig) => {
        rig.providerLine.delayReplies(100, 400)
        const own = connectWithRetry(rig.redis.url)
        own.on('error', () => {})
        const each = run.full ? 2_500 : 250
        const posting = rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, each), 120))
        await rig.chatProduct.hasTaken(20)
        for (let round = 0; round < (run.full ? 3 : 1); round += 1) {
          await pause(run.random.between(500, BETWEEN_MS))
          const end = await begin(rig, own)
          await pause(REFUSES_MS)
          await end()
        }
        await Promise.all(posting)
        own.disconnect()
        const { judgement, ledger } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
        return {
          judgement,
          figures: [
            { what: 'accepted but not sent', value: judgement.accepted - ledger.length, unit: 'messages', atMost: 0 },
            { what: 'sent twice', value: judgement.sentTwice.length, unit: 'messages', atMost: 0 },
          ],
        }
      },
    ),
}))

const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)
