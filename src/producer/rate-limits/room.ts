// How much room is left: on the disk of the data folder, and in the memory of Redis.
import { statfs } from 'node:fs/promises'
import type { Redis } from '../../redis/connect.ts'
import { memoryLeft } from '../../redis/safety.ts'

/** Room that is left; infinite bytes where nobody looked, 100 % where Redis has no limit of its own. */
export interface Room {
  diskBytes: number
  redisPercent: number
}

/** Looks at both. Rejects when Redis does not answer; a folder that is not there (undefined: not asked) has room. */
export async function readRoom(redis: Redis, folder: string | undefined): Promise<Room> {
  const [disk, redisPercent] = await Promise.all([
    folder === undefined ? undefined : statfs(folder).catch(() => undefined),
    memoryLeft(redis),
  ])
  return { diskBytes: disk === undefined ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize, redisPercent }
}
