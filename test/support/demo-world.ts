// A service with the accounts of the demo, in which the examples of the description are true: its senders, templates,
// folders, files and lists have the ids that the examples name.

import { seedDemo } from '../../packages/simulator/demo/seed.ts'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { openFolder } from '../../src/files/folder.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { type Service, startService } from './service.ts'

export interface DemoWorld {
  service: Service
  account: number
  /** A key of the main account that may do everything. */
  key: string
  otherAccount: number
}

/** Starts it without a worker. */
export async function startDemoWorld(env: Record<string, string> = {}): Promise<DemoWorld> {
  const service = await startService({ worker: false, env })
  const { redis, config, simulator } = service
  const seal = createSeal(secretKeysOf(config))
  const nowMs = Date.now()
  const { main, other } = await seedDemo({
    redis,
    seal,
    files: openFolder(config.dataDir),
    simulatorUrl: simulator.url,
    nowMs,
  })
  const { secret: key } = await createCredential(redis, main.account_id, [...PERMISSIONS], nowMs)
  return { service, account: main.account_id, key, otherAccount: other.account_id }
}
