// Delivers new events to an endpoint from the outboxes of its account. A cursor moves on once the events before it were
// delivered, or have a retry job. Events of one message are delivered in order, others in parallel. An endpoint that fails
// gets one delivery at a time, with backoff up to a minute; meanwhile its events stay in the outboxes.
//
// If the process dies before the cursors are moved, the same events are delivered again, under the same ids. Two pumps of
// one endpoint, as after a process was frozen, repeat events; the later one's moves of the cursors are refused.
import { orderingKey, type PlacedEvent } from '../model/events/outbox-entry.ts'
import { probeWaitMs } from '../model/events/retry-times.ts'
import { isRedisAway } from '../redis/errors.ts'
import { type DeliveryDeps, deliver, type Target } from './deliver.ts'
import type { Retries } from './endpoint-retries.ts'
import { isFor } from './store/documents.ts'
import { moveCursors, readCursors } from './store/endpoint-cursors.ts'
import { ACCOUNT_SOURCE } from './store/outbox.ts'
import { type OutboxEntry, readRange } from './store/outbox-entries.ts'

/** Requests to one endpoint at a time, over as many connections. */
export const MOST_AT_ONCE = 8
/** How soon a source with new events is read again, and one that has been quiet for long. */
const READ_MS = 20
const READ_STILL_MS = 300
/** A source is quiet when nothing came for so long. */
const STILL_AFTER_MS = 5_000
/**
 * Entries read at a time: an estimate of what is needed, within these bounds. An entry holds the changes of a step, a line for each of
 * up to a hundred messages.
 */
const FEWEST_ENTRIES = 10
const MOST_ENTRIES = 300
/** Rounds that events are read for while those of the first are delivered. */
const AHEAD = 2
/** An endpoint that has so many deliveries waiting for a retry gets nothing new until there are fewer. */
const MOST_WAITING = 1_000
const FULL_WAIT_MS = 2_000
/** An endpoint that succeeds after so many failed rounds was away: its retries are tried at once. */
const AWAY_ROUNDS = 3

interface Source {
  /** As Redis has it ('' = none yet), and how far was read. */
  stands: string
  read: string
  entries: OutboxEntry[]
  nextReadAt: number
  newsAt: number
  /** Events of an entry, on average of late. */
  density: number
}

/** The pump of one endpoint. `step` does one round and returns the wait (ms) until the next; it rejects when Redis is away. */
export function createPump(deps: DeliveryDeps, target: Target, retries: Retries) {
  const sources = new Map<number, Source>()
  /** Since when (`performance.now()`) the first event waits for its batch to fill. */
  let batchSince: number | undefined
  /** Failed rounds in a row. */
  let failedRounds = 0
  let moving: Promise<void> = Promise.resolve()

  async function know(): Promise<void> {
    const wanted = [ACCOUNT_SOURCE, ...target.senders.keys()]
    // Lanes that have been forgotten.
    for (const source of sources.keys())
      if (source !== ACCOUNT_SOURCE && !target.senders.has(source)) sources.delete(source)
    if (wanted.every((source) => sources.has(source))) return
    const cursors = await readCursors(deps.redis, target.endpoint)
    // New lanes are read from their creation on.
    const first = `${target.endpoint.created_at - 1}-0`
    for (const source of wanted) {
      if (sources.has(source)) continue
      const stands = cursors.get(source) ?? ''
      sources.set(source, {
        stands,
        read: stands || first,
        entries: [],
        nextReadAt: 0,
        newsAt: performance.now(),
        density: 5,
      })
    }
  }

  async function readMore(now: number, enough: number): Promise<void> {
    await Promise.all(
      [...sources].map(async ([source, state]) => {
        const known = eventsIn(state)
        if (state.nextReadAt > now || known >= enough) return
        const likely = Math.ceil((enough - known) / state.density)
        const most = Math.min(MOST_ENTRIES, Math.max(FEWEST_ENTRIES, likely))
        const found = await readRange(deps.redis, target.endpoint.account, source, {
          from: `(${state.read}`,
          to: '+',
          most,
        })
        const last = found.at(-1)
        if (last !== undefined) {
          const events = found.reduce((sum, each) => sum + each.events.length, 0)
          state.density = Math.max(1, (state.density + events / found.length) / 2)
          state.entries.push(...found.map((each) => ({ ...each, events: each.events.filter(isWanted) })))
          state.read = last.entry
          state.newsAt = now
        }
        const isStill = now - state.newsAt > STILL_AFTER_MS
        state.nextReadAt = found.length === most ? 0 : now + (isStill ? READ_STILL_MS : READ_MS)
      }),
    )
  }

  const isWanted = (event: PlacedEvent): boolean =>
    isFor(target.endpoint, target.endpoint.types, event, target.senders.get(event.source)?.number)

  const eventsIn = ({ entries }: Source): number => entries.reduce((sum, { events }) => sum + events.length, 0)

  /**
   * Takes whole entries, source by source, until there are enough events. Sources that were taken from come last the next
   * time: a busy lane must not keep those of others waiting.
   */
  function take(enough: number) {
    const taken: { source: number; state: Source; count: number }[] = []
    const events: PlacedEvent[] = []
    for (const [source, state] of sources) {
      let count = 0
      for (const entry of state.entries) {
        if (events.length >= enough) break
        events.push(...entry.events)
        count += 1
      }
      if (count > 0) taken.push({ source, state, count })
    }
    for (const { source, state } of taken) {
      sources.delete(source)
      sources.set(source, state)
    }
    return { taken, events }
  }

  /**
   * Moves the cursors during the next round: each write waits for the disk of Redis. Moves stay in order, because all go over one
   * connection and at most one is in flight.
   */
  async function moveOn(taken: readonly { source: number; state: Source; count: number }[]): Promise<void> {
    const before = moving
    moving = Promise.resolve()
    await before
    const moves = taken.map(({ source, state, count }) => {
      const to = state.entries[count - 1]?.entry ?? state.stands
      const move = { source, from: state.stands, to }
      state.stands = to
      state.entries.splice(0, count)
      return move
    })
    moving = moveCursors(deps.redis, target.endpoint, moves).then((isMoved) => {
      // Another process has delivered meanwhile, or the endpoint is removed: go on from where the cursors stand now.
      if (!isMoved) sources.clear()
    })
    // The next await receives its failure.
    moving.catch(() => sources.clear())
  }

  /** Delivers the events side by side. False when the cursors must stay: it is disabled, or this process stops. */
  async function deliverAll(events: readonly PlacedEvent[], stopped: AbortSignal): Promise<boolean> {
    const { max_events: most } = target.endpoint
    const isProbe = target.failures > 0
    const parts = split(events, isProbe ? 1 : Math.min(MOST_AT_ONCE, Math.ceil(events.length / most)))
    let [isWhole, hasFailed] = [true, false]
    let [asked, waitMs]: [number | undefined, number] = [undefined, 0]
    const ends = await Promise.allSettled(
      parts.map(async (part) => {
        for (let from = 0; from < part.length && isWhole; from += most) {
          const some = part.slice(from, from + most)
          // One failure ends the round: the rest waits like the first.
          if (hasFailed) {
            await retries.park(some, 0, waitMs)
            continue
          }
          let ownWaitMs = 0
          const retryIn = (retryAfterMs: number | undefined): number => {
            ownWaitMs = retries.firstWaitMs(retryAfterMs)
            return ownWaitMs
          }
          const end = await deliver(deps, target, some, { attempt: 1, retryIn, stopped })
          if (end.kind === 'taken') continue
          if (end.kind !== 'failed') {
            isWhole = false
            return
          }
          hasFailed = true
          asked = end.retryAfterMs
          waitMs = ownWaitMs
          await retries.park(some, 1, ownWaitMs)
        }
      }),
    )
    if (hasFailed) {
      failedRounds += 1
      target.pausedUntil = performance.now() + probeWaitMs(failedRounds, asked)
    } else if (isWhole) {
      // Whether or not Redis does that, what was taken now is not delivered again; a full one lets the others wait out their time.
      const promoted = failedRounds >= AWAY_ROUNDS ? retries.promote() : undefined
      failedRounds = 0
      await promoted?.catch((error: unknown) => {
        if (!isRedisAway(error)) throw error
      })
    }
    // A full Redis takes no retry job: the cursors stay, and the endpoint is spared all the same.
    const refused = ends.find((end) => end.status === 'rejected')
    if (refused !== undefined) throw refused.reason
    return isWhole
  }

  return {
    async step(stopped: AbortSignal): Promise<number> {
      const now = performance.now()
      const { endpoint } = target
      if (!endpoint.enabled) return READ_STILL_MS
      if (target.pausedUntil > now) return Math.min(target.pausedUntil - now, READ_STILL_MS)
      if (target.failures > 0 && (await retries.waiting()) >= MOST_WAITING) return FULL_WAIT_MS
      await know()
      const { max_events: most } = endpoint
      const enough = target.failures > 0 ? most : most * MOST_AT_ONCE
      await readMore(now, enough)
      const { taken, events } = take(enough)
      if (taken.length === 0) return untilNextRead(now)
      if (events.length > 0 && events.length < most) {
        batchSince ??= now
        if (now - batchSince < endpoint.max_wait_ms) return Math.min(READ_MS, endpoint.max_wait_ms)
      }
      batchSince = undefined
      if (events.length > 0) {
        // The next events are read during this delivery. The next round notices if Redis is away.
        const ahead =
          target.failures > 0 ? undefined : readMore(performance.now(), AHEAD * enough).catch(() => undefined)
        // Nothing is read on while the next round begins: two at once would take the same entries twice.
        const isWhole = await deliverAll(events, stopped).finally(() => ahead)
        if (!isWhole) {
          sources.clear()
          return READ_STILL_MS
        }
      }
      await moveOn(taken)
      return 0
    },

    /** When (epoch ms) the oldest event was written that is known here and not delivered; undefined without one. */
    oldestWaiting(): number | undefined {
      const oldest = [...sources.values()].flatMap(
        ({ entries }) => entries.find(({ events }) => events.length > 0) ?? [],
      )
      return oldest.length === 0 ? undefined : Math.min(...oldest.map(({ entry }) => Number.parseInt(entry, 10)))
    },
  }

  function untilNextRead(now: number): number {
    const next = Math.min(...[...sources.values()].map(({ nextReadAt }) => nextReadAt))
    return Math.max(1, Math.min(next - now, READ_STILL_MS))
  }
}

/** Parts of about the same size; events that must not overtake each other are in one. */
function split(events: readonly PlacedEvent[], count: number): PlacedEvent[][] {
  if (count <= 1) return [[...events]]
  const parts: PlacedEvent[][] = Array.from({ length: count }, () => [])
  const partOf = new Map<string, PlacedEvent[]>()
  let next = 0
  for (const event of events) {
    const key = orderingKey(event)
    let part = partOf.get(key)
    if (part === undefined) {
      part = parts[next++ % count] ?? []
      partOf.set(key, part)
    }
    part.push(event)
  }
  return parts.filter((part) => part.length > 0)
}
