// What the parts of a worker share: Redis, files, queues, senders and their providers. None of it does any work by itself.

import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { openFiles } from '../files/open.ts'
import type { Config } from '../kernel/config.ts'
import type { Log } from '../kernel/log.ts'
import { createSeal } from '../kernel/seal.ts'
import { useDataKeys } from '../kernel/sealed.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { openLaneQueues } from '../lanes/queues.ts'
import { useOptOutSecrets } from '../people/opt-outs/erased.ts'
import { createTombstones } from '../people/tombstones.ts'
import { cloudApi, createOpaqueIds } from '../providers/cloud-api.ts'
import { createMediaSource } from '../providers/cloud-media.ts'
import { createCloudUploads } from '../providers/cloud-upload.ts'
import { createGraphApi } from '../providers/graph-api.ts'
import { createHttpAgent } from '../providers/http-agent.ts'
import { partnerApi } from '../providers/partner-api.ts'
import { connectWithRetry } from '../redis/connect.ts'
import { requireReplicas } from '../redis/replication.ts'
import { createSenderDirectory } from './sending/sender-directory.ts'
import { createUploads } from './sending/uploads.ts'

export type Shared = Awaited<ReturnType<typeof openShared>>

/** Opens all of it. Whoever calls it closes `redis`, `listener`, `files`, `queues` and the clients of providers. */
export async function openShared(config: Config, redisUrl: string, log: Log) {
  useDataKeys(config.dataKeys)
  useOptOutSecrets(() => secretKeysOf(config))
  // First what may fail: nothing is open yet.
  const secretKeys = secretKeysOf(config)
  const files = await openFiles(config)
  const redis = connectWithRetry(redisUrl)
  const listener = connectWithRetry(redisUrl)
  requireReplicas(redis, config.redisMinReplicas)
  for (const connection of [redis, listener]) {
    connection.on('error', (error) => log.warn({ err: error }, 'redis.error'))
  }
  /** The name of this process among all workers. */
  const worker = `${hostname()}-${process.pid}-${randomUUID().slice(0, 8)}`
  const seal = createSeal(secretKeys)
  const agent = createHttpAgent()
  const cloudUploads = createCloudUploads(config.cloudApiVersion)
  const providers = {
    'partner-api': partnerApi(agent),
    'cloud-api': cloudApi(agent, createOpaqueIds(secretKeys), config.cloudApiVersion, cloudUploads),
  }
  const queues = openLaneQueues(redis, config.retentionMs)
  return {
    ...{ worker, config, log, redis, listener, files, seal, queues },
    directory: createSenderDirectory({ redis, seal, providers }),
    uploads: createUploads({ redis, files, config, log, lanes: queues, worker }),
    tombstones: createTombstones(redis, secretKeys),
    ...{ agent, cloudUploads },
    graph: createGraphApi(config.cloudApiVersion),
    media: createMediaSource(config.cloudApiVersion),
  }
}
