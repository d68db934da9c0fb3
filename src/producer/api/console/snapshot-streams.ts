// One snapshot per second and account, or of the whole installation, shared by all streams of it; none while no stream is
// open. A stream is the connection of one browser tab and carries changes. One that reads too slowly is cut off; the
// browser connects again by itself.
import { Readable } from 'node:stream'
import type { Log } from '../../../kernel/log.ts'
import { NO_ACCOUNT } from '../../../model/accounts/permissions.ts'
import { isRedisAway } from '../../../redis/errors.ts'
import { type Scope, type Snapshot, scopeKey } from '../../../telemetry/snapshot.ts'
import { changeOf } from '../../../telemetry/snapshot-change.ts'
import { accountHolder, createFairShares, type Holder, type Share } from '../../overload/fair-shares.ts'

/** Time between snapshots of an account. */
const EVERY_MS = 1_000
/** Streams of this process, shared by accounts. A browser opens one per tab. */
const STREAMS_MAX = 200
/** Bytes that wait for one reader: a few snapshots of 200 lanes. */
const UNREAD_MAX = 512 * 1_024
/** Wait of a browser before it connects again. */
const RETRY_MS = 2_000
/** How often the key of a stream is checked again. */
const CHECK_MS = 1_000

/** A comment, sent while there is nothing new: it keeps proxies from closing the connection. */
const SILENCE = ': no snapshot\n\n'

/** What a stream is opened for. `assertStillAllowed` rejects once the session or the key is over. */
export interface Reader {
  scope: Scope
  /** Ends after so many snapshots. */
  limit: number | undefined
  /** Sends only changes after a first whole snapshot. */
  inChanges?: boolean
  assertStillAllowed: () => Promise<unknown>
}

interface Stream extends Reader {
  share: Share
  readable: Readable
  sent: number
  checkedAt: number
  /** The snapshot that it sent last. */
  seen: Taken
}

/** A snapshot. It is serialized when the first stream needs it, once for all of them. */
interface Taken {
  snapshot: Snapshot
  takenAt: number
  whole: () => Buffer
  /** The difference from `before`, for streams that have sent that one. */
  change: (() => Buffer) | undefined
  before: Snapshot | undefined
}

export type SnapshotStreams = ReturnType<typeof createSnapshotStreams>

/** Takes snapshots with `take`, at most one of an account in `everyMs`. */
export function createSnapshotStreams(deps: { take: (scope: Scope) => Promise<Snapshot>; log: Log; everyMs?: number }) {
  const { everyMs = EVERY_MS } = deps
  /** By scopeKey of their scope. */
  const streams = new Map<string, Set<Stream>>()
  const latest = new Map<string, Taken>()
  const taking = new Map<string, Promise<Taken>>()
  const busy = new Set<string>()
  const shares = createFairShares(STREAMS_MAX)
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  /** The snapshot of this second. Requests while one is being taken share it. */
  function current(scope: Scope): Promise<Taken> {
    const key = scopeKey(scope)
    const known = latest.get(key)
    // Timers are early and late by some milliseconds.
    if (known && performance.now() - known.takenAt < 0.9 * everyMs) return Promise.resolve(known)
    const under = taking.get(key)
    if (under) return under
    const begun = performance.now()
    const taken = deps
      .take(scope)
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
    // Snapshots without a stream are dropped.
    for (const [key, { takenAt }] of latest) {
      if (!streams.has(key) && performance.now() - takenAt > everyMs) latest.delete(key)
    }
    await Promise.all(
      [...streams].map(async ([key, readers]) => {
        // A slow Redis makes snapshots rarer instead of piling them up.
        if (busy.has(key)) return
        busy.add(key)
        await sendAll(readers).finally(() => busy.delete(key))
      }),
    )
  }

  async function sendAll(readers: ReadonlySet<Stream>): Promise<void> {
    const [first] = readers
    if (first === undefined) return
    let taken: Taken | undefined
    try {
      taken = await current(first.scope)
    } catch (error) {
      // The page shows how old its figures are; the stream stays open for when Redis is back.
      if (!isRedisAway(error)) deps.log.warn({ err: error }, 'snapshot.failed')
    }
    await Promise.all([...readers].map((reader) => send(reader, taken)))
  }

  async function send(stream: Stream, taken: Taken | undefined): Promise<void> {
    const { readable } = stream
    if (readable.readableLength > UNREAD_MAX) return end(stream, 'cut')
    if (performance.now() - stream.checkedAt > CHECK_MS) {
      stream.checkedAt = performance.now()
      const may = await stream.assertStillAllowed().then(
        () => true,
        // Unknown while Redis is away.
        (error: unknown) => isRedisAway(error),
      )
      if (!may) return end(stream, 'done')
      // It may have ended meanwhile.
      if (!streams.get(scopeKey(stream.scope))?.has(stream)) return
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
    const key = scopeKey(stream.scope)
    const own = streams.get(key)
    if (!own?.delete(stream)) return
    stream.share.release()
    if (own.size === 0) streams.delete(key)
    if (streams.size > 0) return
    clearInterval(timer)
    timer = undefined
    // A snapshot being taken stays until the next tick; the map holds at most one per account.
    latest.clear()
  }

  return {
    /** The snapshot of this second. */
    once: async (scope: Scope): Promise<Snapshot> => (await current(scope)).snapshot,

    /** Whether there is room for another stream, possibly taken from an account with more streams. */
    hasRoomFor: (scope: Scope): boolean => !isClosed && shares.hasRoomFor(holderOf(scope)),

    /** Opens a stream with its first snapshot; may end one of an account with more. Rejects if the snapshot fails. */
    async open(reader: Reader): Promise<Readable> {
      const seen = await current(reader.scope)
      const readable = new Readable({ read: () => undefined, highWaterMark: UNREAD_MAX })
      const share = shares.hold(holderOf(reader.scope), () => end(stream, 'done'))
      const stream: Stream = { ...reader, share, readable, sent: 1, checkedAt: performance.now(), seen }
      readable.push(`retry: ${RETRY_MS}\n`)
      readable.push(seen.whole())
      if (reader.limit === 1 || isClosed) {
        share.release()
        readable.push(null)
        return readable
      }
      const key = scopeKey(reader.scope)
      streams.set(key, (streams.get(key) ?? new Set()).add(stream))
      share.add(1)
      readable.once('close', () => forget(stream))
      timer ??= setInterval(() => void tick(), everyMs).unref()
      return readable
    },

    /** Number of open streams. */
    count: shares.held,

    /** Ends all streams and opens no other. */
    close(): void {
      isClosed = true
      for (const readers of [...streams.values()]) for (const stream of [...readers]) end(stream, 'done')
    },
  }
}

/** Operators that see the whole installation share one quota. */
const holderOf = ({ account }: Scope): Holder => accountHolder(account ?? NO_ACCOUNT)

/** The difference is made only while the previous snapshot is at hand. */
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
