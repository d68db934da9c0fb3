// The chunks of one lane that this worker has taken up: their messages wait here, in the order of their lists, until each is
// claimed. Dying here changes nothing: whoever was not claimed has no mark, and the chunk is taken up again.

import type { JobEnd } from '../queue/worker.ts'
import type { Outgoing } from './attempt.ts'

/** `back`: another worker goes on. */
export type ChunkEnd = JobEnd | { kind: 'back' }

/** The chunks of one lane. */
export interface TakenChunks {
  /**
   * Puts messages of campaign `run` behind those that wait. Resolves to `done` when none of them waits any more, or as they
   * are told to end before.
   */
  add(run: number, messages: readonly Outgoing[]): Promise<ChunkEnd>
  /** Messages that wait. */
  waiting(): number
  /** Those that are next, `most` at most. They wait until they are `taken`. */
  next(most: number): Outgoing[]
  /** These wait no more. */
  taken(messages: ReadonlySet<Outgoing>): void
  /** Lets all chunks end so, or those of one campaign. */
  end(how: ChunkEnd, run?: number): void
  /** Gives back what is here and whatever comes. */
  close(): void
}

/** `added` is called when there is more. */
export function createTakenChunks(added: () => void): TakenChunks {
  let chunks: { run: number; left: readonly Outgoing[]; end: (how: ChunkEnd) => void }[] = []
  let isClosed = false

  function end(how: ChunkEnd, run?: number): void {
    const ended = chunks.filter((chunk) => run === undefined || chunk.run === run)
    chunks = chunks.filter((chunk) => !ended.includes(chunk))
    for (const chunk of ended) chunk.end(how)
  }

  return {
    end,
    add: (run, left) => {
      if (isClosed) return Promise.resolve({ kind: 'back' })
      if (left.length === 0) return Promise.resolve({ kind: 'done' })
      return new Promise((resolve) => {
        chunks.push({ run, left, end: resolve })
        added()
      })
    },
    waiting: () => chunks.reduce((sum, { left }) => sum + left.length, 0),
    next: (most) => {
      const next: Outgoing[] = []
      for (const { left } of chunks) {
        if (next.length >= most) break
        next.push(...left.slice(0, most - next.length))
      }
      return next
    },
    taken: (messages) => {
      if (messages.size === 0) return
      for (const chunk of chunks) chunk.left = chunk.left.filter((message) => !messages.has(message))
      const empty = chunks.filter(({ left }) => left.length === 0)
      chunks = chunks.filter(({ left }) => left.length > 0)
      for (const chunk of empty) chunk.end({ kind: 'done' })
    },
    close: () => {
      isClosed = true
      end({ kind: 'back' })
    },
  }
}
