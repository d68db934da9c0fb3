// Bulk moves: their queue, the step that moves the files, and the record of how it ended.
import { z } from 'zod'
import { MOVE_JOB, MOVE_QUEUE, MOVE_RETRY, type MovePayload, movePayloadSchema } from '../jobs/background.ts'
import { openQueue } from '../lanes/bullmq/open-queue.ts'
import type { Redis } from '../redis/connect.ts'
import { inTime } from '../redis/errors.ts'
import { galleryKeys, sharedQueuePrefix } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { execOrThrow, idField, isThere, readRecord } from '../redis/records.ts'

/** How long the outcome of a move can be asked for. */
const KEEP_SECONDS = 7 * 86_400

const outcomeSchema = z.discriminatedUnion('state', [
  z.object({ state: z.literal('done'), moved: z.coerce.number().int().positive() }),
  z.object({
    state: z.literal('failed'),
    /** `internal`: a record that the move needs is broken in Redis. */
    reason: z.enum(['no_folder', 'no_files', 'internal']),
    /** Of `no_files`: the files that do not exist or are in the trash. */
    missing: z
      .string()
      .transform((list) => list.split(',').filter(Boolean))
      .pipe(z.array(idField)),
  }),
])
/** How a bulk move ended. */
export type MoveOutcome = z.infer<typeof outcomeSchema>

const moveScript = defineScript(import.meta.url, 'gallery-move-files')

/**
 * Moves the files into the folder, all or none, and records the outcome, in one atomic step that changes nothing when the
 * move has an outcome already.
 */
export async function moveFiles(
  redis: Redis,
  { account, move, file_ids, folder_id }: Omit<MovePayload, 'v'>,
): Promise<void> {
  const keys = galleryKeys(account)
  await moveScript(
    redis,
    { folder: keys.folder(folder_id), filesIn: keys.filesIn(folder_id), outcome: keys.move(move), prefix: keys.prefix },
    {
      folderId: String(folder_id),
      keepSeconds: KEEP_SECONDS,
      files: [...new Set(file_ids)].map(String),
    },
  )
}

/** Records that a move can never be done, because of a broken record. */
export async function failMove(redis: Redis, { account, move }: Pick<MovePayload, 'account' | 'move'>): Promise<void> {
  const key = galleryKeys(account).move(move)
  await execOrThrow(
    redis.multi().hset(key, { state: 'failed', moved: 0, reason: 'internal', missing: '' }).expire(key, KEEP_SECONDS),
  )
}

/** How the move ended; undefined when it has not, or is not one of this account. */
export async function findMoveOutcome(redis: Redis, account: number, move: string): Promise<MoveOutcome | undefined> {
  const raw = await redis.hgetall(galleryKeys(account).move(move))
  return isThere(raw) ? readRecord(outcomeSchema, `move ${move}`, raw) : undefined
}

/** Opens the queue on a connection that fails fast. */
export function openMoveQueue(redis: Redis) {
  const queue = openQueue(redis, MOVE_QUEUE, sharedQueuePrefix(MOVE_QUEUE))

  return {
    /** Adds a move; resolves once it is in Redis. Adding the same move again changes nothing. */
    async add(payload: MovePayload): Promise<void> {
      await inTime(redis, () => queue.add(MOVE_JOB, payload, { jobId: payload.move, ...MOVE_RETRY }))
    },

    /** Whether the account has a job of this id, and whether that job was given up. */
    async find(account: number, move: string): Promise<'waiting' | 'failed' | undefined> {
      const job = await inTime(redis, () => queue.getJob(move))
      const payload = movePayloadSchema.safeParse(job?.data)
      if (job === undefined || !payload.success || payload.data.account !== account) return undefined
      return job.finishedOn !== undefined && job.failedReason ? 'failed' : 'waiting'
    },

    close: (): Promise<void> => queue.close(),
  }
}
