// One snapshot a second for all who look at the same: an account, or the whole installation. Nobody looking, nothing is
// read. Each stream is a line to one tab; whoever reads too slowly is cut off and comes again by itself.
import { Readable } from 'node:stream'
import type { Log } from '../log.ts'
import { isRedisAway } from '../redis/errors.ts'
import type { Snapshot } from '../telemetry/snapshot.ts'

/** Looks at one account are so far apart. */
const EVERY_MS = 1_000
/** Streams of this process. A browser opens one per tab. */
const STREAMS_MAX = 200
/** Bytes that wait for one reader: a few snapshots of 200 lanes. */
const UNREAD_MAX = 512 * 1_024
/** What a browser waits before it connects again. */
const RETRY_MS = 2_000
/** How often it is looked whether a reader still may. */
const CHECK_MS = 1_000

/** A comment, while there is nothing to tell: it keeps proxies from taking the line for dead. */
const SILENCE = ': no snapshot\n\n'

/** Whoever has opened a stream. `mayStill` rejects once its session or its key is over. */
export interface Reader {
  account: number | undefined
  /** Ends after so many snapshots. */
  limit: number | undefined
  mayStill: () => Promise<unknown>
}

interface Stream extends Reader {
  readable: Readable
  sent: number
  checkedAt: number
}

/** A snapshot, and the bytes of it that all of its streams share. */
interface Taken {
  snapshot: Snapshot
  event: Buffer
  takenAt: number
}

export type SnapshotStreams = ReturnType<typeof createSnapshotStreams>

/** Takes snapshots with `take`, at most one of an account in `everyMs`. */
export function createSnapshotStreams(deps: {
  take: (account: number | undefined) => Promise<Snapshot>
  log: Log
  everyMs?: number
}) {
  const { everyMs = EVERY_MS } = deps
  const streams = new Map<number | undefined, Set<Stream>>()
  const latest = new Map<number | undefined, Taken>()
  const taking = new Map<number | undefined, Promise<Taken>>()
  const busy = new Set<number | undefined>()
  let timer: NodeJS.Timeout | undefined
  let open = 0
  let isClosed = false

  /** The snapshot of this second. Who asks while one is taken gets that one. */
  function current(account: number | undefined): Promise<Taken> {
    const known = latest.get(account)
    // Timers are early and late by some milliseconds.
    if (known && performance.now() - known.takenAt < 0.9 * everyMs) return Promise.resolve(known)
    const under = taking.get(account)
    if (under) return under
    const begun = performance.now()
    const taken = deps
      .take(account)
      .then((snapshot) => {
        const text = `id: ${snapshot.at}\nevent: snapshot\ndata: ${JSON.stringify(snapshot)}\n\n`
        const one = { snapshot, event: Buffer.from(text), takenAt: begun }
        latest.set(account, one)
        return one
      })
      .finally(() => taking.delete(account))
    taking.set(account, taken)
    return taken
  }

  async function tick(): Promise<void> {
    // What nobody looks at is not kept either.
    for (const [account, { takenAt }] of latest) {
      if (!streams.has(account) && performance.now() - takenAt > everyMs) latest.delete(account)
    }
    await Promise.all(
      [...streams].map(async ([account, readers]) => {
        // A Redis that is slow makes looks rarer, not more of them at once.
        if (busy.has(account)) return
        busy.add(account)
        await tellAll(account, readers).finally(() => busy.delete(account))
      }),
    )
  }

  async function tellAll(account: number | undefined, readers: ReadonlySet<Stream>): Promise<void> {
    let event: Buffer | undefined
    try {
      event = (await current(account)).event
    } catch (error) {
      // The age of what a page shows tells its reader; the line stays open for when Redis is back.
      if (!isRedisAway(error)) deps.log.warn({ err: error }, 'snapshot.failed')
    }
    await Promise.all([...readers].map((reader) => tell(reader, event)))
  }

  async function tell(stream: Stream, event: Buffer | undefined): Promise<void> {
    const { readable } = stream
    if (readable.readableLength > UNREAD_MAX) return end(stream, 'cut')
    if (performance.now() - stream.checkedAt > CHECK_MS) {
      stream.checkedAt = performance.now()
      const may = await stream.mayStill().then(
        () => true,
        // Whether it may is not known while Redis is away.
        (error: unknown) => isRedisAway(error),
      )
      if (!may) return end(stream, 'done')
      // It may have ended meanwhile, and takes nothing more then.
      if (!streams.get(stream.account)?.has(stream)) return
    }
    readable.push(event ?? SILENCE)
    if (event === undefined) return
    stream.sent += 1
    if (stream.limit !== undefined && stream.sent >= stream.limit) end(stream, 'done')
  }

  function end(stream: Stream, how: 'done' | 'cut'): void {
    if (how === 'cut') stream.readable.destroy()
    else stream.readable.push(null)
    forget(stream)
  }

  function forget(stream: Stream): void {
    const own = streams.get(stream.account)
    if (!own?.delete(stream)) return
    open -= 1
    if (own.size === 0) streams.delete(stream.account)
    if (open > 0) return
    clearInterval(timer)
    timer = undefined
    // One that is just being taken is kept until the next one looks; the map holds one per account at most.
    latest.clear()
  }

  return {
    /** The snapshot of this second, for who asks once. */
    once: async (account: number | undefined): Promise<Snapshot> => (await current(account)).snapshot,

    /** Whether there is room for another stream. */
    isFull: (): boolean => open >= STREAMS_MAX || isClosed,

    /** A new stream, its first snapshot in it. Rejects when that cannot be taken. */
    async open(reader: Reader): Promise<Readable> {
      const first = await current(reader.account)
      const readable = new Readable({ read: () => undefined, highWaterMark: UNREAD_MAX })
      const stream: Stream = { ...reader, readable, sent: 1, checkedAt: performance.now() }
      readable.push(`retry: ${RETRY_MS}\n`)
      readable.push(first.event)
      if (reader.limit === 1 || isClosed) {
        readable.push(null)
        return readable
      }
      streams.set(reader.account, (streams.get(reader.account) ?? new Set()).add(stream))
      open += 1
      readable.once('close', () => forget(stream))
      timer ??= setInterval(() => void tick(), everyMs).unref()
      return readable
    },

    /** How many are open. */
    count: (): number => open,

    /** Ends all streams; no other is opened. */
    close(): void {
      isClosed = true
      for (const readers of [...streams.values()]) for (const stream of [...readers]) end(stream, 'done')
    },
  }
}
