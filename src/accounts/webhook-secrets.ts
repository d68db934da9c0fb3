// Secrets of an account, of its webhooks and of its flows: a field of the account for each name, with up to two sealed texts,
// the newest first.

import { type Resealed, type Seal, SealError, type WebhookSecretContext } from '../kernel/seal.ts'
import {
  type FlowSecretName,
  WEBHOOK_SECRETS,
  WEBHOOK_SECRETS_MAX,
  type WebhookSecretName,
} from '../model/accounts/secrets.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { accountKey } from '../redis/keys.ts'
import { replaceField } from '../redis/records.ts'

type SecretName = WebhookSecretName | FlowSecretName

async function readSealed(redis: Redis, account: number, name: SecretName): Promise<readonly string[]> {
  return splitSealed(await redis.hget(accountKey(account), name))
}

const splitSealed = (stored: string | null): string[] => stored?.split(' ').filter(Boolean) ?? []

const NAMES = { app_secret: 'webhook.app_secret', verify_token: 'webhook.verify_token' } as const

/** Sealed secrets, cached for a second; undefined if there is none, which is not cached. */
const cachedSealed = cached(1_000, async (redis: Redis, account: number, name: SecretName) => {
  const sealed = await readSealed(redis, account, name)
  return sealed.length === 0 ? undefined : sealed
})

/** How many secrets of each name an account has. */
export async function countWebhookSecrets(redis: Redis, account: number): Promise<Record<WebhookSecretName, number>> {
  const [secrets, tokens] = await Promise.all(WEBHOOK_SECRETS.map((name) => readSealed(redis, account, name)))
  return { 'webhook.app_secret': secrets?.length ?? 0, 'webhook.verify_token': tokens?.length ?? 0 }
}

/**
 * The account's secrets of this name, in clear, the newest first; none for an account that does not exist. In force within
 * a second of being set. One that no key opens is left out; throws a SealError when there is no other.
 */
export const webhookSecrets = (
  redis: Redis,
  seal: Seal,
  account: number,
  name: keyof typeof NAMES,
): Promise<string[]> => accountSecrets(redis, seal, account, NAMES[name])

/** The same by the name of its field. */
export async function accountSecrets(redis: Redis, seal: Seal, account: number, name: SecretName): Promise<string[]> {
  const all = (await cachedSealed(redis, account, name)) ?? []
  const opened = all.flatMap((each) => openedBy(seal, each, { account, name }) ?? [])
  const [first] = all
  // The error is that the key is gone, and not that the caller is wrong.
  if (opened.length === 0 && first !== undefined) seal.decrypt(first, { account, name })
  return opened
}

/** The same, uncached, for managing them. */
export async function presentSecrets(redis: Redis, seal: Seal, account: number, name: SecretName): Promise<string[]> {
  return (await readSealed(redis, account, name)).flatMap((each) => openedBy(seal, each, { account, name }) ?? [])
}

function openedBy(seal: Seal, sealed: string, context: WebhookSecretContext): string | undefined {
  try {
    return seal.decrypt(sealed, context)
  } catch (error) {
    if (error instanceof SealError) return undefined
    throw error
  }
}

/** Whether webhooks of the account can be verified by a secret of its own. */
export const hasWebhookSecret = async (redis: Redis, account: number): Promise<boolean> =>
  (await readSealed(redis, account, 'webhook.app_secret')).length > 0

/**
 * Puts a secret before the account's newest one of that name, which is good beside it until it is removed; an older one
 * is forgotten. Given again it becomes the newest. Returns how many there are.
 */
export function addWebhookSecret(
  redis: Redis,
  seal: Seal,
  account: number,
  name: SecretName,
  secret: string,
): Promise<number> {
  const context = { account, name }
  return change(redis, account, name, (sealed) => [
    seal.encrypt(secret)(context),
    ...sealed.filter((each) => openedBy(seal, each, context) !== secret).slice(0, WEBHOOK_SECRETS_MAX - 1),
  ])
}

/** Forgets all but the newest, or with `all` every one; returns how many were forgotten. */
export async function removeWebhookSecrets(
  redis: Redis,
  account: number,
  name: SecretName,
  all: boolean,
): Promise<number> {
  let before = 0
  const left = await change(redis, account, name, (sealed) => {
    before = sealed.length
    return all ? [] : sealed.slice(0, 1)
  })
  return before - left
}

/** Seals those that need it under the first key. Throws a SealError. */
export async function resealWebhookSecrets(
  redis: Redis,
  seal: Seal,
  account: number,
  name: SecretName,
): Promise<Resealed> {
  let counts: Resealed = { sealed: 0, fresh: 0 }
  await change(redis, account, name, (all) => {
    const { secrets, ...resealed } = seal.reseal(all, { account, name })
    counts = resealed
    return secrets
  })
  return counts
}

/** Of two commands at the same time the second tries again. Returns how many secrets there are. */
async function change(
  redis: Redis,
  account: number,
  name: SecretName,
  to: (sealed: readonly string[]) => readonly string[],
): Promise<number> {
  for (;;) {
    const sealed = await readSealed(redis, account, name)
    const next = to(sealed)
    const [before, after] = [sealed.join(' '), next.join(' ')]
    if (before === after || (await replaceField(redis, accountKey(account), name, { before, after })))
      return next.length
  }
}
