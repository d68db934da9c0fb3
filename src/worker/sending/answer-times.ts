// Quantiles of a lane's recent answer times, from two histograms of 2 KB each. The older one is dropped whole.

/** The time that one histogram covers; the one before it counts as well. */
const WINDOW_MS = 30_000
/** Buckets to each doubling: the middle of a bucket is at most 2.2 % off. */
const PER_DOUBLING = 16
/** From 1 ms up to 2^16 ms, which no request takes (LANEWAY_SEND_TIMEOUT_SECONDS is at most 60). */
const BUCKETS = 16 * PER_DOUBLING

/** Quantiles of answer times (ms): half of the answers took no longer than `p50`, 99 of 100 no longer than `p99`. */
export interface Quantiles {
  p50: number
  p99: number
}

/** Recent answer times of one lane. Counts every request that left or tried to: answered, broken or timed out. */
export interface AnswerTimes {
  /** A request took this long. */
  add(ms: number): void
  /** Of the last 30 to 60 s; undefined while nothing was answered in that time. */
  lately(): Quantiles | undefined
}

/** Nothing counted yet; `clock` in ms. */
export function createAnswerTimes(clock: () => number = () => performance.now()): AnswerTimes {
  let now = new Uint32Array(BUCKETS)
  let before = new Uint32Array(BUCKETS)
  let window = windowAt()

  function windowAt(): number {
    return Math.floor(clock() / WINDOW_MS)
  }

  function turn(): void {
    const at = windowAt()
    if (at === window) return
    ;[now, before] = [before, now]
    now.fill(0)
    // Nothing was counted for a whole window.
    if (at > window + 1) before.fill(0)
    window = at
  }

  const countAt = (i: number): number => (now[i] ?? 0) + (before[i] ?? 0)

  /** The middle of the bucket that holds the answer below which this share of all lies. */
  function quantile(all: number, share: number): number {
    let left = Math.ceil(all * share)
    let at = 0
    while (at < BUCKETS - 1) {
      left -= countAt(at)
      if (left <= 0) break
      at += 1
    }
    // Three digits would add half a per cent to the 2.2 of a bucket.
    return Number((2 ** ((at + 0.5) / PER_DOUBLING)).toPrecision(4))
  }

  return {
    add(ms) {
      turn()
      const at = bucketOf(ms)
      now[at] = (now[at] ?? 0) + 1
    },
    lately() {
      turn()
      let all = 0
      for (let i = 0; i < BUCKETS; i += 1) all += countAt(i)
      return all === 0 ? undefined : { p50: quantile(all, 0.5), p99: quantile(all, 0.99) }
    },
  }
}

const bucketOf = (ms: number): number =>
  Math.min(BUCKETS - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, ms)) * PER_DOUBLING)))
