// Loading what a page shows, and loading it again while it is seen.
import { useEffect, useRef, useState } from 'preact/hooks'
import { isSoonOver, Refused, saysAgain } from './http.ts'
import { audience } from './session.ts'

/** What a load has brought so far. A refusal leaves the earlier value in place: old and marked is better than gone. */
export interface Loaded<T> {
  value: T | undefined
  /** Epoch ms of this browser at which the value came. */
  at: number
  refusal: Refused | undefined
  busy: boolean
  reload: () => void
  /** Puts a newer value in place, as an action has answered it. */
  put: (value: T) => void
}

const AGAIN_MS = 3_000

/**
 * Loads when the page appears, when `key` or the account changes, every `everyMs` while the tab is seen, and on
 * `reload()`; again by itself after a refusal that will soon be over. A load that is overtaken is given up. Without a key
 * nothing is loaded.
 */
export function useLoad<T>(
  key: string | undefined,
  load: (signal: AbortSignal) => Promise<T>,
  everyMs?: number,
): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; at: number; refusal?: Refused; busy: boolean }>({
    key: '',
    at: 0,
    busy: true,
  })
  const [turn, setTurn] = useState(0)
  const latest = useRef(load)
  latest.current = load
  const whole = key === undefined ? undefined : `${audience.value}|${key}`
  useEffect(() => {
    if (whole === undefined) return undefined
    const aborter = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let isAgain = everyMs !== undefined
    const run = async (): Promise<void> => {
      if (document.hidden && isAgain) {
        document.addEventListener('visibilitychange', () => void run(), { once: true, signal: aborter.signal })
        return
      }
      setState((old) => ({ ...(old.key === whole ? old : { at: 0 }), key: whole, busy: true }))
      try {
        const value = await latest.current(aborter.signal)
        if (aborter.signal.aborted) return
        setState({ key: whole, value, at: Date.now(), busy: false })
      } catch (error) {
        if (aborter.signal.aborted) return
        const refusal = error instanceof Refused ? error : new Refused(0, 'unknown', String(error))
        setState((old) => ({ ...old, refusal: isSoonOver(refusal) ? saysAgain(refusal) : refusal, busy: false }))
        if (everyMs === undefined && isSoonOver(refusal)) {
          isAgain = true
          timer = setTimeout(run, AGAIN_MS)
        }
      }
      if (everyMs !== undefined) timer = setTimeout(run, everyMs)
    }
    void run()
    return () => {
      aborter.abort()
      clearTimeout(timer)
    }
  }, [whole, everyMs, turn])
  const isCurrent = state.key === whole
  return {
    value: isCurrent ? state.value : undefined,
    at: isCurrent ? state.at : 0,
    refusal: isCurrent ? state.refusal : undefined,
    busy: !isCurrent || state.busy,
    reload: () => setTurn((old) => old + 1),
    put: (value) => setState({ key: whole ?? '', value, at: Date.now(), busy: false }),
  }
}
