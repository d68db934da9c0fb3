// Writing over what must not stand in a file of a campaign any more. Nothing moves by that, so that places and line
// numbers of everybody else stay, and doing it twice, or dying in the middle, does no harm: the file is written anew aside
// and takes the place of the old one in one step.
//
// One at a time: of two who write a file anew at once, the later one would bring back whom the earlier one erased.
import { receive } from '../../files/drafts.ts'
import { FileMissingError, type FileStore } from '../../files/store.ts'

/** Bytes of a file. */
export interface Span {
  offset: number
  length: number
}

/** Writes a file anew with other bytes in some places, which are in order. */
export async function writeOver(
  files: FileStore,
  name: string,
  pieces: readonly { offset: number; bytes: Buffer }[],
): Promise<void> {
  if (pieces.length === 0) return
  async function* changed() {
    let begin = 0
    for await (const read of await files.read(name)) {
      const piece = Buffer.from(read)
      for (const { offset, bytes } of pieces) {
        const from = Math.max(offset, begin)
        const to = Math.min(offset + bytes.length, begin + piece.length)
        if (from < to) bytes.copy(piece, from - begin, from - offset, to - offset)
      }
      yield piece
      begin += piece.length
    }
  }
  await replace(files, name, changed())
}

/** Puts this in the place of a file, in one step. */
export async function replace(files: FileStore, name: string, content: AsyncIterable<Buffer>): Promise<void> {
  const draft = await receive(files, content)
  try {
    await files.take(draft.path, name)
  } finally {
    await draft.discard()
  }
}

/** A file that was purged, or replaced by another upload, has nobody in it. */
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
