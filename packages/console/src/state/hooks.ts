// Hooks of the pages: loading and polling data.
import { signal } from '@preact/signals'
import { useEffect, useRef, useState } from 'preact/hooks'
import { addressOf, type Call, dataOf, isTemporary, type Refused, refusedBy, withRetryNote } from './http.ts'
import { viewer } from './session.ts'

/** The state of a load. A refusal leaves the earlier value in place: old and marked is better than gone. */
export interface Loaded<T> {
  value: T | undefined
  /** When the value arrived: epoch ms of this browser. */
  at: number
  refusal: Refused | undefined
  busy: boolean
  reload: () => void
}

/** The polling interval in ms, fixed or by the value; undefined: not again. */
type Every<T> = number | ((value: T) => number | undefined) | undefined

const AGAIN_MS = 3_000
const changes = signal(0)

/** Loads everything on the page again, after an action has changed something. */
export const somethingChanged = (): void => {
  changes.value += 1
}

/**
 * Loads when the page appears, when `key` or the account changes, after every action, and on `reload()`; again after a
 * temporary refusal, and every `every` ms while the tab is visible. A newer load aborts an older one. Without a key nothing
 * is loaded.
 */
export function useLoad<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  every?: Every<T>,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; at: number; refusal?: Refused; busy: boolean }>({
    key: '',
    at: 0,
    busy: true,
  })
  const [reloads, setReloads] = useState(0)
  const latest = useRef({ load, every })
  latest.current = { load, every }
  const loadKey = key === undefined ? undefined : `${viewer.value}|${key}`
  useEffect(() => {
    if (loadKey === undefined) return undefined
    const aborter = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isAgain = latest.current.every !== undefined
    const again = (what: () => unknown, ms: number | undefined): void => {
      isAgain = true
      if (ms !== undefined) timer = setTimeout(what, ms)
    }
    /** The interval may have been taken away meanwhile. */
    const poll = (): void => {
      if (latest.current.every !== undefined) void run()
    }
    const run = async (): Promise<void> => {
      if (document.hidden && isAgain) {
        document.addEventListener('visibilitychange', () => void run(), { once: true, signal: aborter.signal })
        return
      }
      setState((old) => ({ ...(old.key === loadKey ? old : { at: 0 }), key: loadKey, busy: true }))
      try {
        const value = await latest.current.load(aborter.signal)
        if (aborter.signal.aborted) return
        setState({ key: loadKey, value, at: Date.now(), busy: false })
        const { every } = latest.current
        again(poll, typeof every === 'function' ? every(value) : every)
      } catch (error) {
        if (aborter.signal.aborted) return
        const refusal = refusedBy(error)
        setState((old) => ({ ...old, refusal: isTemporary(refusal) ? withRetryNote(refusal) : refusal, busy: false }))
        const { every } = latest.current
        if (typeof every === 'number') again(poll, every)
        else again(run, isTemporary(refusal) || refusal.status >= 500 ? AGAIN_MS : undefined)
      }
    }
    void run()
    return () => {
      aborter.abort()
      clearTimeout(timer)
    }
  }, [loadKey, reloads, changes.value])
  const isCurrent = state.key === loadKey
  return {
    value: isCurrent ? state.value : undefined,
    at: isCurrent ? state.at : 0,
    refusal: isCurrent ? state.refusal : undefined,
    busy: !isCurrent || state.busy,
    reload: () => setReloads((old) => old + 1),
  }
}

/** Loads `data` from an address. */
export const useData = <T>(path: string | undefined, every?: Every<T>, query: Call['query'] = {}): Loaded<T> =>
  useLoad(path && addressOf(path, query), (signal) => dataOf('GET', path ?? '', { query, signal }), every)
