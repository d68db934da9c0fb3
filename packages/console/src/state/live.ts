// Live figures: one server-sent stream per tab brings a snapshot a second. If it fails twice in a row (a proxy that buffers
// streams, a server that restarts) the page polls, and tries the stream again later. A hidden tab loads nothing.
import { effect, signal } from '@preact/signals'
import type { Snapshot } from '../../../../src/telemetry/snapshot.ts'
import { changed, type SnapshotChange } from '../../../../src/telemetry/snapshot-change.ts'
import { actingFor, addressOf, dataOf, Refused } from './http.ts'
import { session } from './session.ts'

/** `stream` and `polling` bring figures; `hidden` is paused on purpose; `lost`: no answer. */
export type Link = 'connecting' | 'stream' | 'polling' | 'hidden' | 'lost'

/** The latest figures; undefined before the first. */
export const snapshot = signal<Snapshot | undefined>(undefined)
/** When they arrived: epoch ms of this browser. */
export const snapshotAt = signal(0)
export const link = signal<Link>('connecting')
/** The clock for every age and countdown: epoch ms, at most a second behind while the tab is visible. */
export const now = signal(Date.now())

const tick = (): void => {
  if (!document.hidden) now.value = Date.now()
}
setInterval(tick, 1_000)
document.addEventListener('visibilitychange', tick)

const POLL_MS = 2_000
const STREAM_AGAIN_MS = 30_000
/** A stream that is silent for so long counts as dead: figures should come every second. */
const SILENCE_MS = 6_000

/** Follows the figures of the session for as long as the page is open. */
export function followLive(): void {
  let aborter = new AbortController()
  const restart = (): void => {
    aborter.abort()
    aborter = new AbortController()
    if (!session.value) return
    if (document.hidden) link.value = 'hidden'
    else void follow(actingFor.value, aborter.signal)
  }
  let before = ''
  effect(() => {
    const who = `${session.value ? session.value.key_name : ''}/${session.value ? 1 : 0}/${actingFor.value ?? ''}`
    if (who === before) return
    before = who
    snapshot.value = undefined
    link.value = 'connecting'
    restart()
  })
  document.addEventListener('visibilitychange', restart)
}

/** `failures`: how many streams in a row have failed. */
async function follow(account: number | undefined, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    const brought = await stream(account, signal)
    failures = brought ? 1 : failures + 1
    if (failures < 2) await pause(500, signal)
    else {
      await poll(account, signal)
      failures = 1
    }
  }
}

const take = (figures: Snapshot, by: Link): void => {
  snapshot.value = figures
  snapshotAt.value = Date.now()
  link.value = by
}

/** Reads a stream until it fails or falls silent; resolves with whether it brought figures. */
const stream = (account: number | undefined, signal: AbortSignal): Promise<boolean> =>
  new Promise((resolve) => {
    const source = new EventSource(addressOf('/console/stream', { account, changes: 'true' }))
    let brought = false
    const end = (): void => {
      clearTimeout(silence)
      signal.removeEventListener('abort', end)
      source.close()
      resolve(brought)
    }
    let silence = setTimeout(end, SILENCE_MS)
    const came = (figures: Snapshot | undefined): void => {
      // A change of figures that this page does not have. A new stream begins with a whole snapshot.
      if (figures === undefined) {
        end()
        return
      }
      clearTimeout(silence)
      silence = setTimeout(end, SILENCE_MS)
      brought = true
      take(figures, 'stream')
    }
    source.addEventListener('snapshot', ({ data }) => came(JSON.parse(data) as Snapshot))
    source.addEventListener('change', ({ data }) =>
      came(snapshot.value && changed(snapshot.value, JSON.parse(data) as SnapshotChange)),
    )
    source.onerror = end
    signal.addEventListener('abort', end)
  })

/** Polls the figures until it is time to try a stream again. */
async function poll(account: number | undefined, signal: AbortSignal): Promise<void> {
  const until = Date.now() + STREAM_AGAIN_MS
  for (; !signal.aborted && Date.now() < until; await pause(POLL_MS, signal)) {
    try {
      take(await dataOf<Snapshot>('GET', '/console/snapshot', { query: { account }, signal }), 'polling')
    } catch (error) {
      if (signal.aborted) return
      if (!(error instanceof Refused)) throw error
      link.value = 'lost'
    }
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
