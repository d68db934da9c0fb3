// Pins: what people say of advertising counts by its time. Whatever order their words come in, however often and whichever worker
// dies over one, while an erasure runs between any two commands of theirs, it ends as if each had come when it was said.
// Real: Redis.
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { useOptOutSecrets } from '../../src/people/opt-outs/erased.ts'
import {
  addOptOuts,
  eraseOptOut,
  findOptOut,
  optedOutAmong,
  removeOptOuts,
} from '../../src/people/opt-outs/opt-outs.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { interceptCommands, type TestRedis } from '../support/redis.ts'
import { allOfContacts } from '../support/state/everything.ts'

const PERSON = '491530001000'
const MOST = 6

/** A command that waits for its turn; `how` says what becomes of it. */
type Turn = (how: 'goes' | 'dies before' | 'dies after') => void

let server: TestRedis
let redis: Redis
/** Of everybody who writes at once, a connection whose commands go when they are let. */
const writers: { connection: Redis; turns: Turn[] }[] = []
let account = 0

withOwnRedis(async (own, at) => {
  redis = own
  server = at
  useOptOutSecrets(() => ['a secret key of at least thirty-two characters'])
  // Everybody's scripts are known there by now, and nobody's second try is one for that.
  await addOptOuts(redis, 1, ['1'], { source: 'http' })
  for (let i = 0; i < MOST; i += 1) {
    const connection = connectWithRetry(server.url)
    await connection.ping()
    const turns: Turn[] = []
    interceptCommands(
      connection,
      (send) =>
        new Promise((resolve, reject) => {
          turns.push((how) => {
            const died = new Error('died')
            if (how === 'goes') resolve(send())
            else if (how === 'dies before') reject(died)
            else Promise.resolve(send()).then(() => reject(died), reject)
          })
        }),
    )
    writers.push({ connection, turns })
  }
})
afterAll(async () => {
  for (const { connection } of writers) connection.disconnect()
})

const word = fc.record({
  intent: fc.constantFrom('stop', 'start'),
  source: fc.constantFrom('word', 'provider'),
  /** Seconds: few, so that two are often of the same one. */
  second: fc.integer({ min: 1, max: 6 }),
})
const step = fc.record({
  says: fc.oneof({ weight: 3, arbitrary: word }, { weight: 2, arbitrary: fc.constant('erase' as const) }),
  /** It dies at its n-th command, and is done again. */
  dies: fc.option(fc.record({ at: fc.nat(4), how: fc.constantFrom('dies before', 'dies after') }), { freq: 3 }),
})
type Word = typeof word extends fc.Arbitrary<infer T> ? T : never

/** Who says that the person wants none, once all has been said in the order of its time. */
function inOrder(words: readonly Word[]): Set<string> {
  const stops = new Set<string>()
  // Of one second the stop counts: WhatsApp tells whole seconds.
  const inTime = [...words].sort((a, b) => a.second - b.second || a.intent.localeCompare(b.intent))
  for (const { intent, source } of inTime) {
    if (intent === 'stop') stops.add(source)
    else if (source === 'provider') stops.delete(source)
    else stops.clear()
  }
  return stops
}

test('opt-outs end as if all had arrived when they were written, and an erasure forgets who it was but no STOP', async () => {
  let erasedMany = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 1, maxLength: MOST }),
      fc.array(fc.nat(MOST - 1), { maxLength: 60 }),
      async (steps, order) => {
        account += 1
        const nobody = account + 1_000_000
        const nowMs = Math.floor(Date.now() / 1_000) * 1_000
        const said = (to: Redis, { intent, source, second }: Word): Promise<number> => {
          const how = { source, atMs: nowMs - 600_000 + second * 1_000 } as const
          return intent === 'stop' ? addOptOuts(to, account, [PERSON], how) : removeOptOuts(to, account, [PERSON], how)
        }
        const doing = steps.map(({ says }, i) => {
          const { connection } = writers[i] ?? { connection: redis }
          const once = async (): Promise<void> => {
            if (says === 'erase') await eraseOptOut(connection, account, [PERSON])
            else await said(connection, says)
          }
          // A worker that died over it begins anew.
          return once().catch(once)
        })
        let left = doing.length
        for (const each of doing) {
          each
            .catch(() => {})
            .finally(() => {
              left -= 1
            })
        }
        const done = steps.map(() => 0)
        for (let at = 0; left > 0; at += 1) {
          await new Promise((resolve) => setImmediate(resolve))
          const waiting = writers.flatMap(({ turns }, i) => (turns.length > 0 ? [i] : []))
          const next = waiting[(order[at % Math.max(1, order.length)] ?? 0) % Math.max(1, waiting.length)]
          if (next === undefined) continue
          const dies = steps[next]?.dies
          writers[next]?.turns.shift()?.(dies && done[next] === dies.at ? dies.how : 'goes')
          done[next] = (done[next] ?? 0) + 1
        }
        await Promise.all(doing)

        const words = steps.flatMap(({ says }) => (says === 'erase' ? [] : [says]))
        const stops = inOrder(words)
        const found = await findOptOut(redis, account, PERSON)
        expect(found !== undefined).toBe(stops.size > 0)
        if (found) expect(stops).toContain(found.source)
        expect((await optedOutAmong(redis, account, [[PERSON]])).size).toBe(stops.size > 0 ? 1 : 0)

        await eraseOptOut(redis, account, [PERSON])
        expect(JSON.stringify(await allOfContacts(redis, account))).not.toContain(PERSON)
        expect((await findOptOut(redis, account, PERSON))?.since).toBe(found?.since)
        // Said once more, as a webhook that comes twice, it changes nothing.
        for (const each of words) await said(redis, each)
        expect((await findOptOut(redis, account, PERSON)) !== undefined).toBe(stops.size > 0)
        expect(await findOptOut(redis, nobody, PERSON)).toBeUndefined()
        if (steps.length - words.length > 1) erasedMany += 1
      },
    ),
    { numRuns: 300 },
  )
  expect(erasedMany).toBeGreaterThan(20)
})
