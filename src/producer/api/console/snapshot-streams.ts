// One snapshot a second for all who look at the same: an account, or the whole installation. Nobody looking, nothing is
// read. Each stream is a line to one tab, which is told what has changed; whoever reads too slowly is cut off and comes
// again by itself.
import { Readable } from 'node:stream'
import { NO_ACCOUNT } from '../../../accounts/permissions.ts'
import type { Log } from '../../../log.ts'
import { isRedisAway } from '../../../redis/errors.ts'
import { keyOf, type Whose } from '../../../telemetry/live/whose.ts'
import type { Snapshot } from '../../../telemetry/snapshot.ts'
import { changeOf } from '../../../telemetry/snapshot-change.ts'
import { accountHolder, createFairShares, type Holder, type Share } from '../../overload/fair-shares.ts'

/** Looks at one account are so far apart. */
const EVERY_MS = 1_000
/** Streams of this process, shared by accounts. A browser opens one per tab. */
const STREAMS_MAX = 200
/** Bytes that wait for one reader: a few snapshots of 200 lanes. */
const UNREAD_MAX = 512 * 1_024
/** What a browser waits before it connects again. */
const RETRY_MS = 2_000
/** How often it is looked whether a reader still may. */
const CHECK_MS = 1_000

/** A comment, while there is nothing to tell: it keeps proxies from taking the line for dead. */
const SILENCE = ': no snapshot\n\n'

/** Whoever has opened a stream. `assertStillAllowed` rejects once its session or its key is over. */
export interface Reader {
  whose: Whose
  /** Ends after so many snapshots. */
  limit: number | undefined
  /** Tells only what has changed, after a first snapshot that is whole. */
  inChanges?: boolean
  assertStillAllowed: () => Promise<unknown>
}

interface Stream extends Reader {
  share: Share
  readable: Readable
  sent: number
  checkedAt: number
  /** What it was told last. */
  seen: Taken
}

/** A snapshot. Its bytes are made when the first stream needs them, and shared by all. */
interface Taken {
  snapshot: Snapshot
  takenAt: number
  whole: () => Buffer
  /** What it changes, where there was one before; nobody who has not seen that one is told this. */
  change: (() => Buffer) | undefined
  before: Snapshot | undefined
}

export type SnapshotStreams = ReturnType<typeof createSnapshotStreams>

/** Takes snapshots with `take`, at most one of an account in `everyMs`. */
export function createSnapshotStreams(deps: { take: (whose: Whose) => Promise<Snapshot>; log: Log; everyMs?: number }) {
  const { everyMs = EVERY_MS } = deps
  /** By keyOf of what they look at. */
  const streams = new Map<string, Set<Stream>>()
  const latest = new Map<string, Taken>()
  const taking = new Map<string, Promise<Taken>>()
  const busy = new Set<string>()
  const shares = createFairShares(STREAMS_MAX)
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  /** The snapshot of this second. Who asks while one is taken gets that one. */
  function current(whose: Whose): Promise<Taken> {
    const key = keyOf(whose)
    const known = latest.get(key)
    // Timers are early and late by some milliseconds.
    if (known && performance.now() - known.takenAt < 0.9 * everyMs) return Promise.resolve(known)
    const under = taking.get(key)
    if (under) return under
    const begun = performance.now()
    const taken = deps
      .take(whose)
      .then((snapshot) => {
        const one = takenOf(snapshot, begun, known?.snapshot)
        latest.set(key, one)
        return one
      })
      .finally(() => taking.delete(key))
    taking.set(key, taken)
    return taken
  }

  async function tick(): Promise<void> {
    // What nobody looks at is not kept either.
    for (const [key, { takenAt }] of latest) {
      if (!streams.has(key) && performance.now() - takenAt > everyMs) latest.delete(key)
    }
    await Promise.all(
      [...streams].map(async ([key, readers]) => {
        // A Redis that is slow makes looks rarer, not more of them at once.
        if (busy.has(key)) return
        busy.add(key)
        await tellAll(readers).finally(() => busy.delete(key))
      }),
    )
  }

  async function tellAll(readers: ReadonlySet<Stream>): Promise<void> {
    const [first] = readers
    if (first === undefined) return
    let taken: Taken | undefined
    try {
      taken = await current(first.whose)
    } catch (error) {
      // The age of what a page shows tells its reader; the line stays open for when Redis is back.
      if (!isRedisAway(error)) deps.log.warn({ err: error }, 'snapshot.failed')
    }
    await Promise.all([...readers].map((reader) => tell(reader, taken)))
  }

  async function tell(stream: Stream, taken: Taken | undefined): Promise<void> {
    const { readable } = stream
    if (readable.readableLength > UNREAD_MAX) return end(stream, 'cut')
    if (performance.now() - stream.checkedAt > CHECK_MS) {
      stream.checkedAt = performance.now()
      const may = await stream.assertStillAllowed().then(
        () => true,
        // Whether it may is not known while Redis is away.
        (error: unknown) => isRedisAway(error),
      )
      if (!may) return end(stream, 'done')
      // It may have ended meanwhile, and takes nothing more then.
      if (!streams.get(keyOf(stream.whose))?.has(stream)) return
    }
    const isNew = taken !== undefined && taken !== stream.seen
    readable.push(isNew ? eventFor(stream, taken) : SILENCE)
    if (!isNew) return
    stream.seen = taken
    stream.sent += 1
    if (stream.limit !== undefined && stream.sent >= stream.limit) end(stream, 'done')
  }

  function end(stream: Stream, how: 'done' | 'cut'): void {
    if (how === 'cut') stream.readable.destroy()
    else stream.readable.push(null)
    forget(stream)
  }

  function forget(stream: Stream): void {
    const key = keyOf(stream.whose)
    const own = streams.get(key)
    if (!own?.delete(stream)) return
    stream.share.release()
    if (own.size === 0) streams.delete(key)
    if (streams.size > 0) return
    clearInterval(timer)
    timer = undefined
    // One that is just being taken is kept until the next one looks; the map holds one per account at most.
    latest.clear()
  }

  return {
    /** The snapshot of this second, for who asks once. */
    once: async (whose: Whose): Promise<Snapshot> => (await current(whose)).snapshot,

    /** Whether there is room for another stream of this reader, maybe that of an account that has more of them. */
    hasRoomFor: (whose: Whose): boolean => !isClosed && shares.hasRoomFor(holderOf(whose)),

    /** A new stream, its first snapshot in it; may end one of an account that has more. Rejects when that cannot be taken. */
    async open(reader: Reader): Promise<Readable> {
      const seen = await current(reader.whose)
      const readable = new Readable({ read: () => undefined, highWaterMark: UNREAD_MAX })
      const share = shares.hold(holderOf(reader.whose), () => end(stream, 'done'))
      const stream: Stream = { ...reader, share, readable, sent: 1, checkedAt: performance.now(), seen }
      readable.push(`retry: ${RETRY_MS}\n`)
      readable.push(seen.whole())
      if (reader.limit === 1 || isClosed) {
        share.release()
        readable.push(null)
        return readable
      }
      const key = keyOf(reader.whose)
      streams.set(key, (streams.get(key) ?? new Set()).add(stream))
      share.add(1)
      readable.once('close', () => forget(stream))
      timer ??= setInterval(() => void tick(), everyMs).unref()
      return readable
    },

    /** How many are open. */
    count: shares.held,

    /** Ends all streams; no other is opened. */
    close(): void {
      isClosed = true
      for (const readers of [...streams.values()]) for (const stream of [...readers]) end(stream, 'done')
    },
  }
}

/** All operators that look at the whole installation are one. */
const holderOf = ({ account }: Whose): Holder => accountHolder(account ?? NO_ACCOUNT)

/** Made of the one before it only while that is at hand. */
function takenOf(snapshot: Snapshot, takenAt: number, before: Snapshot | undefined): Taken {
  const event = (name: string, data: object): Buffer =>
    Buffer.from(`id: ${snapshot.at}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`)
  return {
    ...{ snapshot, takenAt, before },
    whole: onceOnly(() => event('snapshot', snapshot)),
    change: before && onceOnly(() => event('change', changeOf(before, snapshot))),
  }
}

const eventFor = ({ inChanges, seen }: Stream, taken: Taken): Buffer =>
  inChanges && taken.change && taken.before === seen.snapshot ? taken.change() : taken.whole()

function onceOnly<T>(make: () => T): () => T {
  let made: { value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}
