// A reserve of disk and of Redis memory for sending: once it is touched, uploads, imports, campaigns and batches are refused,
// and single messages are accepted as long as there is room.
import { statfs } from 'node:fs/promises'
import type { Config } from '../kernel/config.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { memoryLeft } from '../redis/safety.ts'
import { ApiError } from './errors.ts'

/** How long a reading of disk and Redis is cached. */
const KEPT_MS = 1_000

export type Reserve = ReturnType<typeof createReserve>

/** The reserve of a process. */
export function createReserve(
  redis: Redis,
  { reserve: { diskBytes, redisPercent }, dataDir }: Pick<Config, 'reserve' | 'dataDir'>,
) {
  const room = cached(KEPT_MS, (connection) => readRoom(connection, diskBytes === 0 ? undefined : dataDir))

  return {
    /** Throws an ApiError while requests that take much room are refused: 507 `disk_reserve` or 503 `memory_reserve`. */
    async assertForLarge(): Promise<void> {
      if (diskBytes === 0 && redisPercent === 0) return
      // If Redis or the disk is away, the request fails by itself.
      const left = await room(redis).catch(() => undefined)
      if (left === undefined) return
      if (left.diskBytes < diskBytes) throw diskReserve()
      if (left.redisPercent < redisPercent) throw memoryReserve()
    },
  }
}

const diskReserve = (): ApiError =>
  new ApiError(507, 'disk_reserve', 'The disk is nearly full: what is left is kept for sending. Tell the operator.')

const memoryReserve = (): ApiError =>
  new ApiError(
    503,
    'memory_reserve',
    'The memory of Redis is nearly used up: what is left is kept for single messages. Try again in a while.',
    { headers: { 'Retry-After': '30' } },
  )

/** Free space: infinite bytes if the disk was not read, 100 % if Redis has no limit. */
interface Room {
  diskBytes: number
  redisPercent: number
}

/** Rejects when Redis does not answer. A missing folder counts as free; undefined: the disk is not read. */
async function readRoom(redis: Redis, folder: string | undefined): Promise<Room> {
  const [disk, redisPercent] = await Promise.all([
    folder === undefined ? undefined : statfs(folder).catch(() => undefined),
    memoryLeft(redis),
  ])
  return { diskBytes: disk === undefined ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize, redisPercent }
}
