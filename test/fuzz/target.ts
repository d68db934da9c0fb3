// What is attacked: a whole service with the accounts of the demo. In a test all of it is in this very process, so that
// nothing that it throws stays unseen; otherwise the producer is in one of its own, and its end is a finding.
import { createHmac } from 'node:crypto'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { startDemoWorld } from '../support/demo-world.ts'
import { startApart, startWorkerApart } from './apart.ts'
import type { CredentialKind } from './requests.ts'
import type { Target } from './run.ts'

/** Everything of an account has its word in it: whoever reads that of the other one has found a leak. */
const CANARIES = { main: 'canary-of-the-main-account', other: 'canary-of-the-other-account' }

async function plant(redis: Redis, account: number, canary: string): Promise<void> {
  const { id } = await createTag(redis, account, canary)
  await importContacts(redis, account, id, [
    { phone: `4477009001${account}0`, name: canary, email: `${canary}@shop.example` },
  ])
  await createFolder(redis, account, { name: canary })
  await createCredential(redis, account, [], Date.now(), 0, canary)
}

/** Starts it, with a worker. `apart`: what is attacked is a producer in a process of its own, and so is the worker. */
export async function openTarget({ apart = false } = {}): Promise<Target & { close: () => Promise<void> }> {
  const { service, account, otherAccount, key } = await startDemoWorld({ LANEWAY_BULK_MOVE_WAIT_SECONDS: '1' })
  const { redis } = service
  await plant(redis, account, CANARIES.main)
  await plant(redis, otherAccount, CANARIES.other)
  const nowMs = Date.now()
  const all = [...PERMISSIONS]
  /** `admin` permits everything in its account. */
  const withoutAll = all.filter((each) => each !== 'admin')
  const lacking = new Map<string, string>()
  const only = new Map<string, string>()
  for (const permission of all) {
    const others = withoutAll.filter((each) => each !== permission)
    lacking.set(permission, (await createCredential(redis, account, others, nowMs)).secret)
    only.set(permission, (await createCredential(redis, account, [permission], nowMs)).secret)
  }
  /** Of one permission a key that has all others; of several, a key with one that is none of them. */
  function keyLacking(permissions: readonly string[]): string | undefined {
    const [permission = 'admin', ...more] = permissions
    if (more.length === 0) return lacking.get(permission)
    return only.get(withoutAll.find((each) => !permissions.includes(each)) ?? '')
  }
  const expired = (await createCredential(redis, account, all, nowMs, nowMs - 1)).secret
  const other = (await createCredential(redis, otherAccount, all, nowMs)).secret
  const keys: Readonly<Record<Exclude<CredentialKind, 'lacking'>, string | undefined>> = {
    right: key,
    none: undefined,
    wrong: `${key.slice(0, -1)}${key.endsWith('a') ? 'b' : 'a'}`,
    expired,
    other,
  }
  const { dataDir } = service.config
  const settings = {
    ...{ PORT: '0', REDIS_URL: service.server.url, LANEWAY_DATA_DIR: dataDir, LANEWAY_LOG_LEVEL: 'silent' },
    ...{ LANEWAY_CLOUD_API_APP_SECRET: 'app-secret', LANEWAY_CLOUD_API_VERIFY_TOKEN: 'verify-token' },
    LANEWAY_BULK_MOVE_WAIT_SECONDS: '1',
  }
  const worker = apart ? await startWorkerApart(settings) : undefined
  if (worker === undefined) await service.startWorker()
  let isOver = false
  // A run without it would find faults that are none.
  worker?.ended.then((how) => (isOver ? undefined : Promise.reject(new Error(how))))
  const alone = apart ? await startApart(settings) : undefined
  return {
    url: alone?.url ?? service.url,
    canaries: CANARIES,
    ...(alone && { look: alone.look }),
    keyOf: (kind, permissions) => (kind === 'lacking' ? keyLacking(permissions) : keys[kind]),
    signatureOf: (body) => `sha256=${createHmac('sha256', 'app-secret').update(body).digest('hex')}`,
    async close() {
      isOver = true
      alone?.close()
      worker?.close()
      await service.close()
    },
  }
}
