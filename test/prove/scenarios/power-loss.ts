// The power fails: of the append-only file only what was synced is left. Redis is traced while messages come in; then,
// for random moments, its files are cut to what a disk must have had, and a Redis started on them is asked for every
// message that had been acknowledged by then. The same with `everysec` must lose some, or the cut would prove nothing.
import { cpSync, readdirSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { parseMessageId } from '../../../src/kernel/message-id.ts'
import { messageExists } from '../../../src/lanes/messages/records.ts'
import { connectWithRetry } from '../../../src/redis/connect.ts'
import { startRedisServer } from '../../testbed/redis-server.ts'
import { judge } from '../checker.ts'
import { acceptedId } from '../client.ts'
import { readTrace, type Synced, underTrace, whyNoTrace } from '../fsync-trace.ts'
import { recipientsOf } from '../recipients.ts'
import { startRig } from '../rig.ts'
import type { Run, Scenario } from '../scenario.ts'

interface Recorded {
  appendfsync: string
  /** Acknowledged messages and when (epoch ms). */
  accepted: { id: string; atMs: number }[]
  synced: Synced[]
  files: string
}

export const powerLoss: Scenario = {
  name: 'power-loss',
  promise: 'What was acknowledged is on the disk: a power cut at any moment loses none of it.',
  async run(run) {
    const reason = whyNoTrace()
    if (reason !== undefined) return { skipped: reason }
    const cuts = run.full ? 50 : 4
    const always = await record(run, 'always')
    const lost = new Set(await lostAt(run, always, cuts))
    const everysec = await record(run, 'everysec')
    const lostByControl = await lostAt(run, everysec, Math.max(4, cuts / 5))
    const judgement = judge({
      requests: [],
      ledger: [],
      states: new Map(),
      possibleDuplicates: new Set(),
      refusedLater: new Set(),
      flagsEarned: 0,
    })
    judgement.accepted = always.accepted.length
    judgement.lostSilently = [...lost]
    return {
      judgement,
      figures: [
        { what: `acknowledged messages lost at ${cuts} moments`, value: lost.size, unit: 'messages', atMost: 0 },
        { what: 'lost by the control with everysec', value: lostByControl.length, unit: 'messages', atLeast: 1 },
      ],
    }
  },
}

/** Accepts messages on a traced Redis and kills it. */
async function record(run: Run, appendfsync: 'always' | 'everysec'): Promise<Recorded> {
  const folder = join(run.folder, appendfsync)
  const trace = join(run.folder, `${appendfsync}.trace`)
  const rig = await startRig(
    { ...run, folder },
    {
      workers: 0,
      tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }],
      redisSettings: { appendfsync, 'auto-aof-rewrite-percentage': '0' },
      redisUnder: underTrace(trace),
    },
  )
  try {
    const { tenant } = rig
    await rig.client.post(tenant, recipientsOf(0, run.full ? 3_000 : 300), run.full ? 300 : 100)
    await rig.redis.kill9()
    const accepted = rig.client.log.flatMap((posted) => {
      const id = acceptedId(posted)
      const answer = posted.answers.at(-1)
      return id === undefined || answer === undefined ? [] : [{ id, atMs: answer.atMs }]
    })
    run.say(`${accepted.length} accepted with appendfsync ${appendfsync}`)
    return { appendfsync, accepted, synced: readTrace(trace), files: rig.redis.dir }
  } finally {
    await rig.stop()
  }
}

/** Ids that were acknowledged before a cut and are not there after it, of all cuts. */
async function lostAt(run: Run, { appendfsync, accepted, synced, files }: Recorded, cuts: number): Promise<string[]> {
  const random = run.random.fork(appendfsync)
  const lost: string[] = []
  const [first = 0, last = 0] = [accepted[0]?.atMs, accepted.at(-1)?.atMs]
  for (let cut = 0; cut < cuts; cut += 1) {
    const momentMs = Math.floor(random.between(first, last))
    const safe = synced.filter(({ atMs }) => atMs <= momentMs).at(-1)?.bytes ?? 0
    const copy = join(run.folder, 'cut')
    cpSync(files, copy, { recursive: true, force: true })
    const aof = readdirSync(join(copy, 'appendonlydir')).find((name) => name.endsWith('.incr.aof'))
    truncateSync(join(copy, 'appendonlydir', aof ?? ''), safe)
    const redis = await startRedisServer(copy)
    const store = connectWithRetry(redis.url)
    // The client's clock counts whole milliseconds: an answer in the one of the cut may have come after it.
    const before = accepted.filter(({ atMs }) => atMs < momentMs)
    const found = await Promise.all(
      before.map(async ({ id }) => {
        const parsed = parseMessageId(id)
        return parsed !== undefined && (await messageExists(store, parsed))
      }),
    )
    lost.push(...before.filter((_each, n) => found[n] !== true).map(({ id }) => id))
    store.disconnect()
    await redis.kill9()
  }
  return lost
}
