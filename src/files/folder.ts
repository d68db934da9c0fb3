// Files in a folder that all producers and workers share. A file comes into place by rename, complete and on disk, so
// what is under a name is whole.
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { awayOr, FileMissingError, type FileStore, type StoredFile } from './store.ts'

/** The files below `root`. */
export function openFolder(root: string): FileStore {
  const pathOf = (name: string): string => join(root, name)

  async function* list(prefix: string): AsyncGenerator<StoredFile> {
    const entries = await readdir(pathOf(prefix), { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const name = `${prefix}${entry.name}`
      if (entry.isDirectory()) yield* list(`${name}/`)
      else {
        const found = await stat(pathOf(name)).catch(() => undefined)
        if (found !== undefined) yield { name, writtenMs: found.mtimeMs }
      }
    }
  }

  return {
    drafts: join(root, 'incoming'),

    async take(draft, name) {
      try {
        const folder = dirname(pathOf(name))
        const made = await mkdir(folder, { recursive: true, mode: 0o700 })
        await rename(draft, pathOf(name))
        await syncFolder(folder)
        if (made !== undefined) await syncFolder(dirname(made))
      } catch (error) {
        throw explained(error)
      }
    },

    async read(name, part) {
      try {
        // Opened first, so that a missing file fails before the first byte.
        const handle = await open(pathOf(name), 'r')
        if (part !== undefined && part.to <= part.from) {
          await handle.close()
          return Readable.from([])
        }
        return createReadStream('', { fd: handle, ...(part && { start: part.from, end: part.to - 1 }) })
      } catch (error) {
        throw explained(error)
      }
    },

    async sizeOf(name) {
      try {
        return (await stat(pathOf(name))).size
      } catch (error) {
        throw explained(error)
      }
    },

    list,

    async remove(name) {
      await rm(pathOf(name), { force: true })
      // Folders that are empty now are removed as well, from the innermost one out.
      for (let folder = dirname(name); folder.includes('/'); folder = dirname(folder)) {
        if (
          !(await rmdir(pathOf(folder)).then(
            () => true,
            () => false,
          ))
        )
          return
      }
    },

    addressOf: async () => undefined,
    close: () => undefined,
  }
}

function explained(error: unknown): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'ENOENT' || code === 'ENOTDIR') return new FileMissingError('there is no such file', { cause: error })
  return awayOr(error)
}

/** Without this a power cut can undo the rename although the record in Redis is kept. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
