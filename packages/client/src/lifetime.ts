// How long a client lives: everything that waits in it ends when it is closed.
import { setTimeout as delay } from 'node:timers/promises'
import { LanewayUnavailable } from './errors.ts'

/** How long a call waits before it rejects with LanewayTimeout or LanewayUnavailable. */
export interface WaitOptions {
  /** Milliseconds. */
  timeoutMs?: number
}

/** The time between connecting a client and closing it. */
export interface Lifetime {
  /** Aborted when the client is closed. */
  signal: AbortSignal
  /** Throws LanewayUnavailable when the client is closed. */
  check(): void
  /** Resolves after that time; rejects with LanewayUnavailable at once when the client is closed. */
  sleep(ms: number): Promise<void>
  end(): void
}

/** A lifetime that has not ended. */
export function newLifetime(): Lifetime {
  const closed = new AbortController()
  const check = (): void => {
    if (closed.signal.aborted) throw new LanewayUnavailable('The client is closed.')
  }
  return {
    signal: closed.signal,
    check,
    async sleep(ms) {
      check()
      await delay(ms, undefined, { signal: closed.signal }).catch(check)
    },
    end: () => closed.abort(),
  }
}
