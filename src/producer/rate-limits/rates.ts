// How many requests a second may come: of a key, of an account, from an address, over all processes. The buckets are in
// Redis; each process leases what it will need for the next 100 ms (lease.ts), so that nearly no request waits for Redis
// and the sum is exact all the same. All that is asked for in one event-loop tick goes in one call.
//
// Without Redis each process goes on at the rate by itself: whoever does not answer must not shut everybody out, and what
// needs Redis is answered 503 anyway.
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { Redis } from '../../redis/connect.ts'
import { rateKey } from '../../redis/keys.ts'
import { defineScriptOfMany } from '../../redis/lua.ts'
import { readRecord } from '../../redis/records.ts'
import { withTimeout } from '../../redis/with-timeout.ts'
import { createLease, type Granted, type Lease } from './lease.ts'

/** Buckets that a process remembers; what is forgotten is asked for anew. */
const REMEMBERED = 10_000
/** Nobody waits longer for Redis. */
const ANSWER_MS = 250

/** Of whom there are buckets. */
export type RateOf = 'key' | 'account' | 'address'

/** Whether a request may come, and what is left. */
export interface RateVerdict {
  of: RateOf
  isWithin: boolean
  rate: number
  left: number
}

export type Rates = ReturnType<typeof createRates>

const takeScript = defineScriptOfMany(import.meta.url, 'rate-take')
const replies = z.array(z.tuple([z.number(), z.number(), z.number()]))

interface Bucket {
  key: string
  rate: number
  lease: Lease
  waiting: ((isWithin: boolean) => void)[]
  /** How many are being asked for; 0 while nothing is. */
  asking: number
}

/** The buckets as one process sees them. */
export function createRates(redis: Redis, clock = () => performance.now()) {
  const remembered = () => new LRUCache<string, Bucket>({ max: REMEMBERED })
  // By whom they are of: the key in Redis is put together once for each of them.
  const buckets = { key: remembered(), account: remembered(), address: remembered() }
  /** Those that are asked for at the end of this turn. */
  let turn: Bucket[] = []

  function ask(bucket: Bucket, nowMs: number): void {
    if (bucket.asking > 0) return
    const wanted = bucket.lease.wanted(bucket.rate, bucket.waiting.length, nowMs)
    if (wanted === 0) return
    bucket.asking = wanted
    if (turn.push(bucket) === 1) setImmediate(askAll)
  }

  function askAll(): void {
    const asked = turn
    turn = []
    // Who came in the same turn after the first is asked for as well.
    for (const each of asked) {
      each.asking = Math.max(each.asking, each.lease.wanted(each.rate, each.waiting.length, clock()))
    }
    withTimeout(ANSWER_MS, takeAll(redis, asked)).then(
      (given) => asked.forEach((bucket, i) => void end(bucket, given[i])),
      () => {
        for (const bucket of asked) end(bucket, undefined)
      },
    )
  }

  function end(bucket: Bucket, given: Granted | undefined): void {
    const { lease, asking, rate } = bucket
    bucket.asking = 0
    if (given === undefined) lease.takeAlone(rate, clock())
    else lease.take(given, asking, rate, clock())
    const waiting = bucket.waiting.splice(0)
    const late = waiting.filter((answer) => {
      const isWithin = lease.use(clock())
      if (isWithin || lease.isEmpty(clock())) answer(isWithin)
      return !isWithin && !lease.isEmpty(clock())
    })
    // They came while it was on its way.
    bucket.waiting.push(...late)
    if (bucket.waiting.length > 0) ask(bucket, clock())
  }

  function bucketOf(of: RateOf, who: string, rate: number): Bucket {
    const known = buckets[of].get(who)
    if (known !== undefined) {
      known.rate = rate
      return known
    }
    const bucket = { key: rateKey(of, who), rate, lease: createLease(), waiting: [], asking: 0 }
    buckets[of].set(who, bucket)
    return bucket
  }

  const verdict = (of: RateOf, { lease, rate }: Bucket, isWithin: boolean, nowMs: number): RateVerdict => ({
    of,
    isWithin,
    rate,
    left: lease.left(nowMs),
  })

  return {
    /** Counts a request against `rate` (more than 0) requests a second. A promise only where Redis must be asked first. */
    take(of: RateOf, who: string, rate: number): RateVerdict | Promise<RateVerdict> {
      const bucket = bucketOf(of, who, rate)
      const { lease } = bucket
      const now = clock()
      lease.came(now)
      if (bucket.waiting.length === 0) {
        if (lease.use(now)) {
          ask(bucket, now)
          return verdict(of, bucket, true, now)
        }
        if (lease.isEmpty(now)) return verdict(of, bucket, false, now)
      }
      return new Promise<boolean>((resolve) => {
        bucket.waiting.push(resolve)
        ask(bucket, now)
      }).then((isWithin) => verdict(of, bucket, isWithin, clock()))
    },
  }
}

async function takeAll(redis: Redis, asked: readonly Bucket[]): Promise<Granted[]> {
  const each = asked.map(({ key, rate, asking }) => ({ keys: { bucket: key }, args: { rate, want: asking } }))
  const said = readRecord(replies, 'buckets of rates', await takeScript(redis, {}, {}, each))
  return said.map(([granted, left, waitMs]) => ({ granted, left, waitMs }))
}
