// A ceiling on bytes that the process holds for clients: bodies that are coming in, answers that are not being read.
// Each connection may hold little, but there are many, and buffers are outside of V8's heap limit.
//
// Whoever has been holding for longest is let go first. A client that sends in earnest is done within moments; one that
// holds back its last byte, or does not read, is always the oldest, so it makes room and not the others.

/** One that holds bytes. */
export interface Holding {
  /** Holds so many bytes more; may let go of others, or of this one. */
  add(bytes: number): void
  /** Its bytes are needed from now on, as those of a body that is complete: it is not let go of any more. */
  keep(): void
  /** Holds nothing any more. Releasing twice is releasing once. */
  release(): void
}

export type HeldBytes = ReturnType<typeof createHeldBytes>

/** A ceiling of `maxBytes`. Only bytes that are being kept may go beyond it, by what the last of them added. */
export function createHeldBytes(maxBytes: number) {
  let held = 0
  /** Those that can be let go, the oldest first. */
  const loose = new Map<Holding, () => void>()

  return {
    held: () => held,
    /** Begins to hold nothing yet. `letGo` is called when the bytes must be given up; they are released already then. */
    hold(letGo: () => void): Holding {
      let own = 0
      let isOver = false
      const holding: Holding = {
        add(bytes) {
          if (isOver) return
          own += bytes
          held += bytes
          for (const [oldest, giveUp] of loose) {
            if (held <= maxBytes) return
            oldest.release()
            giveUp()
          }
        },
        keep: () => void loose.delete(holding),
        release() {
          isOver = true
          held -= own
          own = 0
          loose.delete(holding)
        },
      }
      loose.set(holding, letGo)
      return holding
    },
  }
}
