// One connection to Redis for one command: found, opened, and closed whatever happens.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { secretKeysOf } from '../accounts/seal.ts'
import type { Config } from '../config.ts'
import { useDataKeys } from '../messages/sealed.ts'
import { noteDataKeys } from '../messages/store/data-keys.ts'
import { useOptOutSecrets } from '../people/opt-outs/store/erased.ts'
import { openOrThrow, type Redis } from '../redis/connect.ts'
import { migrate } from '../redis/migrations.ts'
import { isRedisAddress, shownRedis } from '../redis-socket.ts'
import { CliFailure, reasonOf } from './failure.ts'

/** A cluster, or Sentinel, has others to ask when the first server is gone. */
const OPEN_LIMIT_MS = 10_000

/** Runs `work` on a connection that answers, and closes it afterwards. */
export async function withRedis<T>(config: Config, work: (redis: Redis) => Promise<T>): Promise<T> {
  const url = redisUrlOf(config)
  // Trouble after that is reported by the command that it hits.
  const redis = await openOrThrow(url, OPEN_LIMIT_MS).catch((error: unknown) => {
    throw new CliFailure(`Redis at ${shownRedis(url)} cannot be used: ${reasonOf(error)}.`)
  })
  try {
    await migrate(redis)
    await noteDataKeys(redis, config.dataKeys, { retentionMs: config.retentionMs, nowMs: Date.now() })
    useDataKeys(config.dataKeys)
    useOptOutSecrets(() => secretKeysOf(config))
    return await work(redis)
  } finally {
    redis.disconnect()
  }
}

const demoFile = z.object({ redis_url: z.string().refine(isRedisAddress) })

/** REDIS_URL, else the private Redis that a running `npm start` names in its data folder. */
function redisUrlOf(config: Config): string {
  if (config.redisUrl !== undefined) return config.redisUrl
  const path = join(config.dataDir, 'demo.json')
  const demo = demoFile.safeParse(readJson(path))
  if (demo.success) return demo.data.redis_url
  throw new CliFailure(`No Redis configured: set REDIS_URL, or run \`npm start\`, which writes its address to ${path}.`)
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch {
    return undefined
  }
}
