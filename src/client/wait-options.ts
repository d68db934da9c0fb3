/** How long a call waits before it rejects with LanewayTimeout. */
export interface WaitOptions {
  /** Milliseconds. */
  timeoutMs?: number
}
