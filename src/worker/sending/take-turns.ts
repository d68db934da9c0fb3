// Lets only so many messages be taken at a time by all lanes of a process. On a machine that is late, steps of all lanes at once
// would each take as long as all of them together, and what they have checked would be out of date when they are done. In turn each is
// quick, and as much is taken in all.
import type { Bell } from '../../kernel/bell.ts'

/** Five times what thirty busy lanes take at a time: no lane waits for its turn as long as the process keeps up. */
const MOST_AT_A_TIME = 500

/** The turns of the lanes of a process. */
export class TakeTurns {
  private taking = 0
  /** The bells of those that wait for their turn, the longest waiting first. */
  private readonly line = new Set<Bell>()
  /** The one that is told now that it is its turn, and has yet to go on. */
  private asked: Bell | undefined
  /** Some have ended, or left the line, since it was asked from its beginning. */
  private mustAskAgain = false

  /**
   * Whether `most` messages may be taken now; if not, the bell rings once it is its turn, and who waits has to ask again. Each one that
   * was allowed calls `end` with the same number. One step is always allowed, however many messages it takes.
   */
  begin(most: number, bell: Bell): boolean {
    const isNext = this.isNext(bell)
    const isRoom = this.taking === 0 || (isNext && this.taking + most <= MOST_AT_A_TIME)
    if (!isRoom || (this.asked !== undefined && !isNext)) {
      this.line.add(bell)
      return false
    }
    const wasInLine = this.line.delete(bell)
    this.taking += most
    // It has looked by itself, and may need less than it waited for: there may be room for those behind it.
    if (wasInLine && this.asked === undefined) void this.askLine()
    return true
  }

  /** Who does something else keeps its place and is passed over, for that may hang. */
  private isNext(bell: Bell): boolean {
    for (const each of this.line) if (each === bell || each === this.asked || each.isAwaited) return each === bell
    return true
  }

  end(most: number): void {
    this.taking -= most
    void this.askLine()
  }

  /** It waits for no turn any more. */
  leave(bell: Bell): void {
    if (this.line.delete(bell)) void this.askLine()
  }

  /** Each that begins makes room for the next one to be asked; the first that cannot keeps its place. */
  private async askLine(): Promise<void> {
    this.mustAskAgain = true
    if (this.asked !== undefined) return
    while (this.mustAskAgain) {
      this.mustAskAgain = false
      for (const bell of this.line) {
        if (!bell.isAwaited) continue
        this.asked = bell
        await bell.ring()
        this.asked = undefined
        if (this.line.has(bell)) break
      }
    }
  }
}
