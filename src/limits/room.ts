// How much room is left: on the disk of the data folder, and in the memory of Redis.
import { statfs } from 'node:fs/promises'
import type { Redis } from '../redis/connect.ts'
import { bytesOf } from '../redis/safety.ts'

/** Room that is left; infinite bytes where nobody looked, 100 % where Redis has no limit of its own. */
export interface Room {
  diskBytes: number
  redisPercent: number
}

/** Looks at both. Rejects when Redis does not answer; a folder that is not there (undefined: not asked) has room. */
export async function readRoom(redis: Redis, folder: string | undefined): Promise<Room> {
  const [disk, memory] = await Promise.all([
    folder === undefined ? undefined : statfs(folder).catch(() => undefined),
    redis.info('memory'),
  ])
  const most = bytesOf(memory, 'maxmemory')
  const used = bytesOf(memory, 'used_memory') - bytesOf(memory, 'mem_not_counted_for_evict')
  return {
    diskBytes: disk === undefined ? Number.POSITIVE_INFINITY : disk.bavail * disk.bsize,
    redisPercent: most === 0 ? 100 : Math.max(0, (100 * (most - used)) / most),
  }
}
