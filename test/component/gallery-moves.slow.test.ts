// Pins: bulk moves from the request to the outcome, with and without a worker. Real: Redis, BullMQ, Express, the disk.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findFile, type GalleryFile, trashFile } from '../../src/gallery/files.ts'
import { type Folder, findFolder } from '../../src/gallery/folders.ts'
import { findMoveOutcome, moveFiles } from '../../src/gallery/moves.ts'
import { MOVE_JOB, MOVE_QUEUE, newMoveId } from '../../src/jobs/background.ts'
import { openBulkMoves } from '../../src/producer/api/gallery/moves.ts'
import { connectFailFast, connectWithRetry } from '../../src/redis/connect.ts'
import { errorOf } from '../support/api-error.ts'
import { startGallery, type TestGallery } from '../support/gallery.ts'
import { startRedis } from '../support/redis.ts'
import { galleryOf } from '../support/state/accounts.ts'
import { sharedQueue } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

describe('with a worker', () => {
  let gallery: TestGallery
  beforeAll(async () => {
    gallery = await startGallery()
    await gallery.startWorker()
  })
  afterAll(() => gallery.close())

  const move = (files: readonly (GalleryFile | number)[], folder: Folder | number) =>
    gallery.call('POST', '/files/bulk-move', {
      body: {
        file_ids: files.map((file) => (typeof file === 'number' ? file : file.id)),
        folder_id: typeof folder === 'number' ? folder : folder.id,
      },
    })
  const counts = async (...folders: Folder[]) =>
    Promise.all(folders.map(async (folder) => (await findFolder(gallery.redis, folder.account, folder.id))?.file_count))

  test('moves files of several folders, and only their folder and the counts change', async () => {
    const [one, two, target] = [await gallery.folder('1'), await gallery.folder('2'), await gallery.folder('3')]
    const files = [await gallery.file(one, 'a'), await gallery.file(one, 'b'), await gallery.file(two, 'c')]
    const reply = await move(files, target)
    expect([reply.status, reply.json]).toEqual([200, { success: true, message: '3 file(s) moved' }])
    expect(await counts(one, two, target)).toEqual([0, 0, 3])
    for (const file of files) {
      expect(await findFile(gallery.redis, gallery.account, file.id)).toEqual({ ...file, folder_id: target.id })
    }
  })

  test('counts distinct files, including those already there', async () => {
    const [one, target] = [await gallery.folder('1'), await gallery.folder('2')]
    const [a, b] = [await gallery.file(one, 'a'), await gallery.file(target, 'b')]
    expect((await move([a, b, a, a], target)).json.message).toBe('2 file(s) moved')
    expect(await counts(one, target)).toEqual([0, 2])
  })

  test('moves none when one does not exist, is in the trash or is not ours, and names each of these', async () => {
    const [one, target] = [await gallery.folder('1'), await gallery.folder('2')]
    const [good, trashed] = [await gallery.file(one, 'good'), await gallery.file(one, 'trashed')]
    const theirs = await gallery.file(await gallery.folder('Theirs', { owner: gallery.otherAccount }))
    await trashFile(gallery.redis, gallery.account, trashed.id)
    const reply = await move([good, trashed, theirs, 999999], target)
    expect(reply.status).toBe(404)
    const error = errorOf(reply)
    expect(error.code).toBe('not_found')
    expect(error.details).toEqual(
      [trashed.id, theirs.id, 999999].map((id) => ({ path: 'file_ids', message: `file ${id} does not exist` })),
    )
    expect(await counts(one, target)).toEqual([1, 0])
  })

  test('is 404 when the folder does not exist or is not ours', async () => {
    const one = await gallery.folder('1')
    const file = await gallery.file(one)
    const theirs = await gallery.folder('Theirs', { owner: gallery.otherAccount })
    for (const target of [999999, theirs]) {
      const reply = await move([file], target)
      expect([reply.status, errorOf(reply).details]).toMatchObject([404, [{ path: 'folder_id' }]])
    }
    expect(await counts(one)).toEqual([1])
  })

  test('takes 1,000 files', async () => {
    const [one, target] = [await gallery.folder('1'), await gallery.folder('2')]
    const ids: number[] = []
    for (let i = 0; i < 10; i += 1) {
      const made = await Promise.all(Array.from({ length: 100 }, () => gallery.file(one, 'same', 'same')))
      ids.push(...made.map((file) => file.id))
    }
    expect((await move(ids, target)).json.message).toBe('1000 file(s) moved')
    expect(await counts(one, target)).toEqual([0, 1_000])
  })

  test.each([
    [{}, ['file_ids', 'folder_id']],
    [{ file_ids: [1] }, ['folder_id']],
    [{ folder_id: 1 }, ['file_ids']],
    [{ file_ids: [], folder_id: 1 }, ['file_ids']],
    [{ file_ids: 1, folder_id: 1 }, ['file_ids']],
    [{ file_ids: ['1', 2, null, 0, -1, 1.5, 2 ** 53], folder_id: 1 }, [0, 2, 3, 4, 5, 6].map((i) => `file_ids[${i}]`)],
    [{ file_ids: [1], folder_id: '1' }, ['folder_id']],
    [{ file_ids: Array.from({ length: 1_001 }, (_, i) => i + 1), folder_id: 1 }, ['file_ids']],
  ])('%j is refused with 400, every field named', async (body, paths) => {
    const reply = await gallery.call('POST', '/files/bulk-move', { body })
    expect([reply.status, errorOf(reply).details.map((each) => each.path)]).toEqual([400, paths])
  })

  test('a list of a thousand wrong ids is refused with a short answer', async () => {
    const body = { file_ids: Array.from({ length: 1_000 }, () => 'x'), folder_id: 1 }
    const reply = await gallery.call('POST', '/files/bulk-move', { body })
    expect([reply.status, errorOf(reply).details.length]).toEqual([400, 100])
  })

  test('a broken record is 500 and moves nothing, and the job is failed', async () => {
    const [one, two, target] = [await gallery.folder('1'), await gallery.folder('2'), await gallery.folder('3')]
    const [a, b] = [await gallery.file(one), await gallery.file(two)]
    const { filesIn, moves, move: moveOf } = galleryOf(gallery.redis, gallery.account)
    await filesIn(two.id).ruin('not a set')
    const reply = await move([a, b], target)
    expect([reply.status, errorOf(reply).code]).toEqual([500, 'internal'])
    await filesIn(two.id).remove()
    expect(await counts(one, target)).toEqual([1, 0])
    const reasons = await Promise.all((await moves()).map((id) => moveOf(id).field('reason')))
    expect(reasons).toContain('internal')
  })

  test('done twice, does not undo what was moved in between', async () => {
    const [one, target, later] = [await gallery.folder('1'), await gallery.folder('2'), await gallery.folder('3')]
    const file = await gallery.file(one)
    const job = { account: gallery.account, move: newMoveId(Date.now()), file_ids: [file.id], folder_id: target.id }
    await moveFiles(gallery.redis, job)
    const outcome = await findMoveOutcome(gallery.redis, gallery.account, job.move)
    await move([file], later)
    await moveFiles(gallery.redis, job)
    expect((await findFile(gallery.redis, gallery.account, file.id))?.folder_id).toBe(later.id)
    expect(await findMoveOutcome(gallery.redis, gallery.account, job.move)).toEqual(outcome)
  })

  test('the state of a job shows how it ended, only to its account', async () => {
    const [one, target] = [await gallery.folder('1'), await gallery.folder('2')]
    const file = await gallery.file(one)
    const run = async (file_ids: number[]) => {
      const id = newMoveId(Date.now())
      await moveFiles(gallery.redis, { account: gallery.account, move: id, file_ids, folder_id: target.id })
      return id
    }
    const done = await run([file.id])
    const failed = await run([999999])
    expect((await gallery.call('GET', `/jobs/${done}`)).json).toEqual({
      success: true,
      message: '1 file(s) moved',
      data: { job_id: done, status: 'done', details: [] },
    })
    expect((await gallery.call('GET', `/jobs/${failed}`)).json.data).toEqual({
      job_id: failed,
      status: 'failed',
      details: [{ path: 'file_ids', message: 'file 999999 does not exist' }],
    })
    expect((await gallery.call('GET', `/jobs/${done}`, { token: gallery.otherToken })).status).toBe(404)
    for (const id of [newMoveId(Date.now()), 'mv_x', '1', '%2e%2e']) {
      expect((await gallery.call('GET', `/jobs/${id}`)).status).toBe(404)
    }
    expect(await galleryOf(gallery.redis, gallery.account).move(done).livesMs()).toBeGreaterThan(6 * 86_400_000)
  })

  test('a payload that does not parse fails at once and is kept with the reason', async () => {
    const queue = sharedQueue(gallery.redis, MOVE_QUEUE)
    await queue.add(MOVE_JOB, { v: 2, file_ids: 'all' }, { jobId: 'nonsense', attempts: 5 })
    const job = await eventually(async () => {
      const found = await queue.getJob('nonsense')
      return found?.failedReason ? found : undefined
    }, 'the job fails')
    expect(job.failedReason).toMatch(/not a bulk move.*account/)
    expect(job.attemptsMade).toBe(1)
    await queue.close()
  })
})

describe('without a worker', () => {
  test('an account has at most 50 moves under way, and another is not refused because of it', async () => {
    const server = await startRedis()
    // A producer's fails where the machine stands still for two seconds, and then a move is not under way any more.
    const redis = connectWithRetry(server.url)
    const moves = openBulkMoves(redis)
    // A cluster is ready before its servers are.
    const answers = async () => {
      const asked = [1, 2].map((account) => moves.stateOf(account, newMoveId(Date.now())))
      return (await Promise.allSettled(asked)).every(({ status }) => status === 'fulfilled')
    }
    await eventually(answers, 'Redis is there')
    const move = (account: number, waitMs: number) =>
      moves.run({ v: 1, account, move: newMoveId(Date.now()), file_ids: [1], folder_id: 1 }, waitMs)
    const waiting = Array.from({ length: 50 }, () => move(1, 600_000))
    await expect(move(1, 1)).rejects.toMatchObject({ status: 429, code: 'too_many_moves' })
    expect(await move(2, 1)).toBeUndefined()
    // A client that waits is told that there is no outcome yet.
    await moves.close()
    await Promise.all(waiting)
    redis.disconnect()
    await server.stop()
  })

  test('a producer that starts before Redis accepts moves once Redis is there', async () => {
    const server = await startRedis()
    await server.kill9()
    const redis = connectFailFast(server.url)
    redis.on('error', () => {})
    const moves = openBulkMoves(redis)
    const move = { v: 1 as const, account: 1, move: newMoveId(Date.now()), file_ids: [1], folder_id: 1 }
    await expect(moves.run(move, 1)).rejects.toThrow('Redis is not connected')
    await server.restart()
    await eventually(async () => redis.status === 'ready', 'Redis is there')
    expect(await moves.run(move, 1)).toBeUndefined()
    expect(await moves.stateOf(1, move.move)).toEqual({ state: 'pending' })
    await moves.close()
    redis.disconnect()
    await server.stop()
  })

  test('a Redis that does not answer is reported in time', async () => {
    const server = await startRedis()
    const [redis, other] = [connectFailFast(server.url), connectFailFast(server.url)]
    const moves = openBulkMoves(redis)
    await eventually(async () => (await redis.ping()) === 'PONG' && (await other.ping()) === 'PONG', 'it is there')
    await other.client('PAUSE', 900_000, 'ALL')
    const begun = performance.now()
    const move = { v: 1 as const, account: 1, move: newMoveId(Date.now()), file_ids: [1], folder_id: 1 }
    await expect(moves.run(move, 900_000)).rejects.toThrow()
    expect(performance.now() - begun).toBeLessThan(300_000)
    for (const connection of [redis, other]) connection.disconnect()
    await moves.close()
    await server.stop()
  })

  test('is answered with 202 and done when a worker starts', async () => {
    const gallery = await startGallery({ bulkMoveWaitMs: 100 })
    const [one, target] = [await gallery.folder('1'), await gallery.folder('2')]
    const file = await gallery.file(one)
    const reply = await gallery.call('POST', '/files/bulk-move', {
      body: { file_ids: [file.id], folder_id: target.id },
    })
    expect(reply.status).toBe(202)
    expect(reply.json).toMatchObject({ success: true, message: expect.any(String) })
    const { job_id, status_url } = Object(reply.json.data)
    expect(status_url).toBe(`${gallery.base}/jobs/${job_id}`)
    expect((await gallery.call('GET', status_url)).json.data).toMatchObject({ status: 'pending' })
    expect((await gallery.call('GET', status_url, { token: gallery.otherToken })).status).toBe(404)
    expect(await findFile(gallery.redis, gallery.account, file.id)).toEqual(file)

    await gallery.startWorker()
    const state = await eventually(async () => {
      const { json } = await gallery.call('GET', status_url)
      return Object(json.data).status === 'done' ? json : undefined
    }, 'the move is done')
    expect(state.message).toBe('1 file(s) moved')
    expect((await findFile(gallery.redis, gallery.account, file.id))?.folder_id).toBe(target.id)
    await gallery.close()
  })

  /** A gallery without a worker, and a move that a request there waits for. */
  async function moveUnderWay() {
    const gallery = await startGallery()
    const [one, target] = [await gallery.folder('1'), await gallery.folder('2')]
    const file = await gallery.file(one)
    const body = { file_ids: [file.id], folder_id: target.id }
    const waiting = gallery.call('POST', '/files/bulk-move', { body })
    const queue = sharedQueue(gallery.redis, MOVE_QUEUE)
    await eventually(async () => (await queue.getWaitingCount()) === 1, 'the move is queued')
    await queue.close()
    return { gallery, one, target, file, body, waiting }
  }

  test('a worker that starts while the request waits answers it', async () => {
    const { gallery, waiting } = await moveUnderWay()
    await gallery.startWorker()
    expect((await waiting).json.message).toBe('1 file(s) moved')
    await gallery.close()
  })

  test('a Redis that goes away while the request waits is reported with 503, long before the wait is over', async () => {
    const { gallery, one, target, file, body, waiting } = await moveUnderWay()
    await gallery.server.kill9()
    const reply = await waiting
    expect([reply.status, reply.headers.get('retry-after')]).toEqual([503, expect.any(String)])
    expect((await gallery.call('POST', '/files/bulk-move', { body })).status).toBe(503)

    await gallery.server.restart()
    await gallery.startWorker()
    await eventually(async () => {
      const found = await findFile(gallery.redis, gallery.account, file.id).catch(() => undefined)
      return found?.folder_id === target.id || undefined
    }, 'the move is done after all')
    const again = await eventually(async () => {
      const tried = await gallery.call('POST', '/files/bulk-move', { body: { file_ids: [file.id], folder_id: one.id } })
      return tried.status === 503 ? undefined : tried
    }, 'the producer is back')
    expect(again.json.message).toBe('1 file(s) moved')
    await gallery.close()
  })
})
