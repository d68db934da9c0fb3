// Overwrites parts of a campaign's file in place, so that the places and line numbers of everybody else stay. Idempotent, and a process
// may die in the middle: the file is rewritten under another name and replaces the old one in one step.
//
// One at a time: of two concurrent rewrites, the later would bring back whom the earlier erased.

import { receive } from '../files/drafts.ts'
import { FileMissingError, type FileStore } from '../files/store.ts'

/** Bytes of a file. */
export interface Span {
  offset: number
  length: number
}

/**
 * Writes a file anew, in one step, and returns how many `spans` there were, which are in order; without any it stays as it
 * is. `write` changes the bytes of a span, from its place `from` on: a span may lie in two pieces of the file.
 */
export async function writeOver<S extends Span>(
  files: FileStore,
  name: string,
  spans: Iterable<S> | AsyncIterable<S>,
  write: (bytes: Buffer, span: S, from: number) => void,
): Promise<number> {
  async function* inOrder() {
    yield* spans
  }
  const rest = inOrder()
  let next = await rest.next()
  let count = 0
  async function* changed() {
    let begin = 0
    for await (const read of await files.read(name)) {
      const piece = Buffer.from(read)
      const end = begin + piece.length
      while (!next.done && next.value.offset < end) {
        const { offset, length } = next.value
        const from = Math.max(0, begin - offset)
        write(piece.subarray(offset + from - begin, offset + length - begin), next.value, from)
        // Its other half is in the next piece.
        if (offset + length > end) break
        count += 1
        next = await rest.next()
      }
      yield piece
      begin = end
    }
  }
  if (next.done) return 0
  const draft = await receive(files, changed())
  try {
    await files.take(draft.path, name)
  } finally {
    await draft.discard()
  }
  return count
}

/** A file that was purged, or replaced by another upload, counts as empty. */
export async function thereOrNothing(read: Promise<AsyncIterable<Buffer>>): Promise<AsyncIterable<Buffer>> {
  const found = await read.catch(missing)
  return found ?? nothing()
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Undefined for a file that is not there; anything else is thrown. */
export function missing(error: unknown): undefined {
  if (error instanceof FileMissingError) return undefined
  throw error
}
