// Messages of one number within any sliding second, exactly: the n-th message before this one must be a second old.

export class SlidingSecond {
  /** Times of the latest that were taken, as many as the limit. */
  #times: number[] = []

  /** Counts one more, unless that would be more than `limit` in a second. */
  take(limit: number, nowMs: number): boolean {
    if (!this.hasRoom(limit, nowMs)) return false
    this.#times.push(nowMs)
    return true
  }

  /** Whether one more would be within the limit. */
  hasRoom(limit: number, nowMs: number): boolean {
    while (this.#times.length > limit) this.#times.shift()
    const oldest = this.#times[0]
    return this.#times.length < limit || oldest === undefined || nowMs - oldest >= 1000
  }
}
