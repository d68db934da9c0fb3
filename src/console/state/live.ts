// What is live: one server-sent stream per tab, which brings a snapshot a second. When it cannot be had twice in a row
// (a proxy that holds streams back, a server that restarts) the page polls, and tries the stream again later. In a
// hidden tab nothing is asked for.
import { effect, signal } from '@preact/signals'
import type { Snapshot } from '../../telemetry/snapshot.ts'
import { changed, type SnapshotChange } from '../../telemetry/snapshot-change.ts'
import { actingFor, addressOf, dataOf, Refused } from './http.ts'
import { session } from './session.ts'

/** `stream` and `polling` bring figures; `hidden` is paused on purpose; `lost` has got nothing for a while. */
export type Link = 'connecting' | 'stream' | 'polling' | 'hidden' | 'lost'

/** The latest figures; undefined before the first. */
export const snapshot = signal<Snapshot | undefined>(undefined)
/** Epoch ms of this browser at which they came. */
export const snapshotAt = signal(0)
export const link = signal<Link>('connecting')

const POLL_MS = 2_000
const STREAM_AGAIN_MS = 30_000
/** A stream that brings nothing for so long is taken for dead: a heartbeat comes with every snapshot. */
const SILENCE_MS = 6_000

let stop: () => void = () => undefined

/** Follows the figures of whoever is signed in, until the page goes. */
export function followLive(): void {
  const restart = (): void => {
    stop()
    stop = () => undefined
    if (!session.value) return
    if (document.hidden) link.value = 'hidden'
    else stop = openStream(actingFor.value, 0)
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

const take = (figures: Snapshot, by: Link): void => {
  snapshot.value = figures
  snapshotAt.value = Date.now()
  link.value = by
}

/** `failures`: how often in a row a stream has failed. Returns what ends it. */
function openStream(account: number | undefined, failures: number): () => void {
  const source = new EventSource(addressOf('/console/stream', { account, changes: 'true' }))
  let next: () => void = () => undefined
  let failed = failures
  const giveUp = (): void => {
    clearTimeout(silence)
    source.close()
    if (failed === 0) {
      const again = setTimeout(() => {
        next = openStream(account, 1)
      }, 500)
      next = () => clearTimeout(again)
    } else next = poll(account)
  }
  let silence = setTimeout(giveUp, SILENCE_MS)
  const came = (figures: Snapshot | undefined): void => {
    // Changes of figures that this page does not have: the stream is begun anew, with a whole snapshot.
    if (figures === undefined) {
      giveUp()
      return
    }
    clearTimeout(silence)
    silence = setTimeout(giveUp, SILENCE_MS)
    failed = 0
    take(figures, 'stream')
  }
  source.addEventListener('snapshot', ({ data }) => came(JSON.parse(data) as Snapshot))
  source.addEventListener('change', ({ data }) =>
    came(snapshot.value && changed(snapshot.value, JSON.parse(data) as SnapshotChange)),
  )
  source.onerror = giveUp
  return () => {
    clearTimeout(silence)
    source.close()
    next()
  }
}

function poll(account: number | undefined): () => void {
  const aborter = new AbortController()
  let next: () => void = () => undefined
  let timer: ReturnType<typeof setTimeout>
  const began = Date.now()
  const turn = async (): Promise<void> => {
    try {
      const query = { account }
      take(await dataOf<Snapshot>('GET', '/console/snapshot', { query, signal: aborter.signal }), 'polling')
    } catch (error) {
      if (aborter.signal.aborted) return
      if (!(error instanceof Refused)) throw error
      if (error.status === 401) return
      link.value = 'lost'
    }
    if (aborter.signal.aborted) return
    if (Date.now() - began > STREAM_AGAIN_MS) next = openStream(account, 1)
    else timer = setTimeout(turn, POLL_MS)
  }
  void turn()
  return () => {
    aborter.abort()
    clearTimeout(timer)
    next()
  }
}
