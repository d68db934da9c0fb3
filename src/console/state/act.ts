// Doing what a button says: once for each press, never again by itself.
import { useRef, useState } from 'preact/hooks'
import { idempotencyKey, isAway, Refused } from './http.ts'
import { snapshotAt } from './live.ts'

/** Figures that come sooner after a refusal may have been on their way before it. */
const LATER_MS = 1_500

/** What became of the latest press. */
export interface Done {
  busy: boolean
  refusal: Refused | undefined
  /** It was refused because Laneway or its storage was away, and that is over. */
  isBack: boolean
}

/** Has `act` done at each press that comes while it is not under way; its refusal is for `Problem` to show. */
export function useAct(act: () => Promise<void>): Done & { run: () => Promise<void> } {
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<{ refusal: Refused; at: number }>()
  const run = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    setRefused(undefined)
    try {
      await act()
    } catch (error) {
      const refusal = error instanceof Refused ? error : new Refused(0, 'unknown', String(error))
      setRefused({ refusal, at: Date.now() })
    }
    setBusy(false)
  }
  // Live figures come from the same server, and from its storage.
  const isBack = refused !== undefined && isAway(refused.refusal) && snapshotAt.value > refused.at + LATER_MS
  return { busy, refusal: refused?.refusal, isBack, run }
}

/**
 * Headers that make the same thing once, however often it is asked for: nobody who got no answer knows whether it was done.
 * The key stays the same until the body is another one, or `made` is called because it was answered.
 */
export function useOnce(): { headersFor: (body: unknown) => Record<string, string>; made: () => void } {
  const asked = useRef<{ text: string; key: string }>(undefined)
  return {
    headersFor(body) {
      const text = JSON.stringify(body)
      if (asked.current?.text !== text) asked.current = { text, key: idempotencyKey() }
      return { 'Idempotency-Key': asked.current.key }
    },
    made() {
      asked.current = undefined
    },
  }
}
