// What is attacked: a whole service with the accounts of the demo, in this very process, so that nothing that it throws
// stays unseen.
import { createHmac } from 'node:crypto'
import { createCredential, PERMISSIONS } from '../src/accounts/store/credentials.ts'
import { startDemoWorld } from '../test/support/demo-world.ts'
import type { CredentialKind } from './requests.ts'
import type { Target } from './run.ts'

/** Starts it, with a worker. */
export async function openTarget(): Promise<Target & { close: () => Promise<void> }> {
  const { service, account, otherAccount, key } = await startDemoWorld({ LANEWAY_BULK_MOVE_WAIT_SECONDS: '1' })
  await service.startWorker()
  const { redis } = service
  const nowMs = Date.now()
  const all = [...PERMISSIONS]
  const lacking = new Map<string, string>()
  for (const permission of all) {
    const others = all.filter((each) => each !== permission)
    lacking.set(permission, (await createCredential(redis, account, others, nowMs)).secret)
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
  return {
    url: service.url,
    keyOf: (kind, permission) => (kind === 'lacking' ? lacking.get(permission) : keys[kind]),
    signatureOf: (body) => `sha256=${createHmac('sha256', 'app-secret').update(body).digest('hex')}`,
    close: () => service.close(),
  }
}
