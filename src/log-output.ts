// Where the log of a process goes: standard output, without ever waiting for its reader. A reader that is slow, or
// stands still, would otherwise hold up the event loop, and with it the locks of all that is under way.
import { writeSync } from 'node:fs'

/** Lines that wait for their reader, in characters; those that come on top are dropped and counted. */
const MOST_HELD = 1024 * 1024
const TRY_AGAIN_MS = 20
/** How long the end of the process waits for a reader that reads nothing, and for one that is slow. */
const NO_READER_MS = 500
const SLOW_READER_MS = 2_000

/** Where pino writes its lines. Never blocks and never throws. */
export interface LogOutput {
  write(line: string): void
}

/**
 * An output on a file descriptor that is set to not block, as standard output is once Node has opened it for a pipe. A
 * terminal and a file are written at once. `dropped` is told how many lines were dropped, once the reader goes on.
 */
export function createLogOutput(fd: number, dropped: (lines: number) => void): LogOutput {
  const held: string[] = []
  let heldLength = 0
  let droppedLines = 0
  /** What the system has not taken yet of the line that is being written. */
  let begun: Buffer | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let writtenBytes = 0

  /** Writes as much as the system takes; false when something is left. */
  function pump(): boolean {
    while (!isClosed) {
      if (begun === undefined) {
        const line = held.shift()
        if (line === undefined) return true
        heldLength -= line.length
        begun = Buffer.from(line)
      }
      try {
        const written = writeSync(fd, begun)
        writtenBytes += written
        begun = written < begun.length ? begun.subarray(written) : undefined
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') return false
        // A closed terminal answers EIO, a closed pipe EPIPE: nobody will ever read this.
        isClosed = true
      }
    }
    return true
  }

  function later(): void {
    timer ??= setTimeout(() => {
      timer = undefined
      if (!pump()) return later()
      const lines = droppedLines
      droppedLines = 0
      if (lines > 0 && !isClosed) dropped(lines)
    }, TRY_AGAIN_MS).unref()
  }

  // However the process ends, but for a signal that nobody can catch: nothing can be awaited any more.
  process.on('exit', () => {
    const end = performance.now() + SLOW_READER_MS
    let taken = writtenBytes
    let takenAt = performance.now()
    while (!pump()) {
      const now = performance.now()
      if (writtenBytes > taken) [taken, takenAt] = [writtenBytes, now]
      if (now > end || now > takenAt + NO_READER_MS) return
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, TRY_AGAIN_MS)
    }
  })

  return {
    write(line) {
      if (isClosed) return
      if (heldLength + line.length > MOST_HELD) {
        droppedLines += 1
        return
      }
      held.push(line)
      heldLength += line.length
      if (timer === undefined && !pump()) later()
    },
  }
}
