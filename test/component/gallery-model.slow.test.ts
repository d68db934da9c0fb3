// Pins: after any sequence of creating, moving, trashing and restoring, each file is in exactly one place, and every
// list and count says the same. Real: Redis. The model is a plain map; fast-check shrinks a sequence that differs.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createFile, findFile, listFiles, restoreFile, trashFile } from '../../src/gallery/files.ts'
import { createFolder, findFolders } from '../../src/gallery/folders.ts'
import { findMoveOutcome, moveFiles } from '../../src/gallery/moves.ts'
import { newMoveId } from '../../src/jobs/background.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

type Step =
  | { do: 'create'; folder: number }
  | { do: 'trash' | 'restore'; file: number }
  | { do: 'move'; files: number[]; folder: number; again: boolean }

/** Places in the lists of folders and files made so far, counted round and round; 0 is an id that does not exist. */
const folderPlace = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 1, max: 8 }) },
  { weight: 1, arbitrary: fc.constant(0) },
)
const filePlace = fc.oneof(
  { weight: 30, arbitrary: fc.integer({ min: 1, max: 30 }) },
  { weight: 1, arbitrary: fc.constant(0) },
)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constant('create' as const), folder: fc.nat(3) }),
  fc.record({ do: fc.constantFrom('trash' as const, 'restore' as const, 'restore' as const), file: filePlace }),
  fc.record({
    do: fc.constant('move' as const),
    files: fc.array(filePlace, { minLength: 1, maxLength: 4 }),
    folder: folderPlace,
    again: fc.boolean(),
  }),
)

test('each file is in exactly one place, and every list and count agrees', async () => {
  let account = 0
  const seen = { moved: 0, refused: 0, trashed: 0, restored: 0 }
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
      account += 1
      const folders: number[] = []
      for (const name of ['a', 'b', 'c', 'd']) folders.push((await createFolder(redis, account, { name })).id)
      const files: number[] = []
      /** File id → folder it belongs to, and whether it is in the trash. */
      const model = new Map<number, { folder: number; trashed: boolean }>()
      const folderAt = (place: number) => (place > 0 && folders[place % folders.length]) || 888_888
      const fileAt = (place: number) => (place > 0 && files[place % files.length]) || 999_999

      for (const each of steps) {
        if (each.do === 'create') {
          const file = await createFile(redis, account, newFile(folderAt(each.folder + 1)))
          files.push(file.id)
          model.set(file.id, { folder: file.folder_id, trashed: false })
        } else if (each.do === 'move') {
          const ids = each.files.map(fileAt)
          const [folder, possible] = [folderAt(each.folder), ids.every((id) => model.get(id)?.trashed === false)]
          const move = { account, move: newMoveId(Date.now()), file_ids: ids, folder_id: folder }
          await moveFiles(redis, move)
          if (each.again) await moveFiles(redis, move)
          const outcome = await findMoveOutcome(redis, account, move.move)
          if (folders.includes(folder) && possible) {
            expect(outcome).toEqual({ state: 'done', moved: new Set(ids).size })
            for (const id of ids) model.set(id, { folder, trashed: false })
            seen.moved += 1
          } else {
            expect(outcome?.state).toBe('failed')
            seen.refused += 1
          }
        } else {
          const id = fileAt(each.file)
          const before = model.get(id)
          const possible = before !== undefined && before.trashed === (each.do === 'restore')
          const done = await (each.do === 'trash' ? trashFile : restoreFile)(redis, account, id)
          expect(done !== undefined).toBe(possible)
          if (before && possible) model.set(id, { ...before, trashed: each.do === 'trash' })
          if (possible) seen[each.do === 'trash' ? 'trashed' : 'restored'] += 1
        }
      }

      const inFolder = (folder: number) =>
        [...model].filter(([, place]) => place.folder === folder && !place.trashed).map(([id]) => id)
      const trashed = [...model].filter(([, place]) => place.trashed).map(([id]) => id)
      for (const folder of folders) {
        const listed = await listFiles(redis, account, folder, 0, 1_000)
        expect(listed.map((file) => file.id)).toEqual(inFolder(folder))
      }
      expect((await listFiles(redis, account, 'trash', 0, 1_000)).map((file) => file.id)).toEqual(trashed)
      expect((await findFolders(redis, account, folders)).map((folder) => folder.file_count)).toEqual(
        folders.map((folder) => inFolder(folder).length),
      )
      for (const [id, place] of model) {
        const file = await findFile(redis, account, id)
        expect([file?.folder_id, file?.deleted_at !== null]).toEqual([place.folder, place.trashed])
      }
    }),
    { numRuns: 80 },
  )
  // A generator that never gets so far would prove nothing.
  for (const [what, times] of Object.entries(seen)) expect([what, times > 20]).toEqual([what, true])
})

const newFile = (folderId: number) => ({
  folderId,
  name: 'file',
  hash: 'a'.repeat(64),
  mimeType: 'text/plain',
  extension: 'txt',
  size: 1,
})
