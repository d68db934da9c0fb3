// Lets only so many messages be taken at a time by all lanes of a process. On a machine that is late, steps of all lanes at once
// would each take as long as all of them together, and what they have checked would be out of date when they are done. In turn each is
// quick, and as much is taken in all.

/** Five times what thirty busy lanes take at a time: no lane waits for its turn as long as the process keeps up. */
const MOST_AT_A_TIME = 500

/** The turns of the lanes of a process. */
export class TakeTurns {
  private taking = 0
  private isAsking = false
  /** Those that wait for their turn, the longest waiting first. */
  private readonly line = new Set<() => void>()

  /**
   * Whether `most` messages may be taken now; if not, `again` is called once it is its turn, and has to ask again. Each one that was
   * allowed calls `end` with the same number. One step is always allowed, however many messages it takes.
   */
  begin(most: number, again: () => void): boolean {
    const isNext = this.line.size === 0 || this.line.values().next().value === again
    if (this.taking > 0 && (!isNext || this.taking + most > MOST_AT_A_TIME)) {
      this.line.add(again)
      return false
    }
    this.line.delete(again)
    this.taking += most
    return true
  }

  end(most: number): void {
    this.taking -= most
    this.askLine()
  }

  /** It waits for no turn any more. */
  leave(again: () => void): void {
    if (this.line.delete(again)) this.askLine()
  }

  /** Each that begins makes room for the next one to be asked; the first that cannot keeps its place. */
  private askLine(): void {
    if (this.isAsking) return
    this.isAsking = true
    for (const again of this.line) {
      again()
      if (this.line.has(again)) break
    }
    this.isAsking = false
  }
}
