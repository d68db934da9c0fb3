// How an account's flows are served: the address of its own server, and the keys and secrets for that. They are fields of the
// account, sealed like its webhook secrets, so that they go with it. Two keys and two secrets are good at a time.
import type { KeyObject } from 'node:crypto'
import { accountSecrets, addWebhookSecret, presentSecrets, removeWebhookSecrets } from '../accounts/webhook-secrets.ts'
import type { Seal } from '../kernel/seal.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { accountKey } from '../redis/keys.ts'
import { newPrivateKey, publicKeyOf, readPrivateKey } from './flow-crypto.ts'
import type { FlowSettings } from './flow-request.ts'

const ADDRESS = 'flow.address'
const KEY = 'flow.private_key'
const SECRET = 'flow.secret'

const readAddress = async (redis: Redis, account: number): Promise<string | undefined> =>
  (await redis.hget(accountKey(account), ADDRESS)) || undefined

/** A change takes effect within a second. */
const cachedAddress = cached(1_000, readAddress)

/** As sealed: when it was made (epoch ms) and the key. */
const written = (createdMs: number, key: string): string => `${createdMs}:${key}`

function readKey(text: string): { createdMs: number; key: string } {
  const colon = text.indexOf(':')
  return { createdMs: Number(text.slice(0, colon)), key: text.slice(colon + 1) }
}

/** A key costs a millisecond to read, and each request needs it. */
const keyObjects = new Map<string, KeyObject>()
const MOST_KEYS = 1_000

function keyObjectOf(text: string): KeyObject {
  const known = keyObjects.get(text) ?? readPrivateKey(text)
  if (!keyObjects.has(text) && keyObjects.size >= MOST_KEYS) keyObjects.clear()
  keyObjects.set(text, known)
  return known
}

/** What opens requests of the account's flows; none for an account that has no key or does not exist. */
export async function flowKeys(redis: Redis, seal: Seal, account: number): Promise<KeyObject[]> {
  return (await accountSecrets(redis, seal, account, KEY)).map((text) => keyObjectOf(readKey(text).key))
}

/** The address of the account's own server, and its signing secrets; undefined without an address. */
export async function flowTarget(
  redis: Redis,
  seal: Seal,
  account: number,
): Promise<{ address: string; secrets: readonly string[] } | undefined> {
  const address = await cachedAddress(redis, account)
  const secrets = await accountSecrets(redis, seal, account, SECRET)
  return address === undefined || secrets.length === 0 ? undefined : { address, secrets }
}

/** All settings but the secrets, as they are at this moment. */
export async function flowSettings(redis: Redis, seal: Seal, account: number): Promise<FlowSettings> {
  const [address, secrets, keys] = await Promise.all([
    readAddress(redis, account),
    presentSecrets(redis, seal, account, SECRET),
    presentSecrets(redis, seal, account, KEY),
  ])
  return { address: address ?? null, secrets: secrets.length, keys: keys.map(shownKey) }
}

function shownKey(text: string): FlowSettings['keys'][number] {
  const { createdMs, key } = readKey(text)
  const { id, pem } = publicKeyOf(keyObjectOf(key))
  return { id, created_at: new Date(createdMs).toISOString(), public_key: pem }
}

/** Sets the address; null removes it. */
export async function setFlowAddress(redis: Redis, account: number, address: string | null): Promise<void> {
  if (address === null) await redis.hdel(accountKey(account), ADDRESS)
  else await redis.hset(accountKey(account), ADDRESS, address)
}

/** Makes a key. The one before opens requests on until it is removed; an older one is forgotten. */
export async function addFlowKey(
  redis: Redis,
  seal: Seal,
  account: number,
  nowMs: number,
): Promise<FlowSettings['keys'][number]> {
  const text = written(nowMs, await newPrivateKey())
  await addWebhookSecret(redis, seal, account, KEY, text)
  return shownKey(text)
}

/** Forgets all keys but the newest, or with `all` every one; returns how many. */
export const removeFlowKeys = (redis: Redis, account: number, all: boolean): Promise<number> =>
  removeWebhookSecrets(redis, account, KEY, all)

/** Adds a secret; the one before signs beside it, and an older one is forgotten. */
export async function addFlowSecret(redis: Redis, seal: Seal, account: number, secret: string): Promise<void> {
  await addWebhookSecret(redis, seal, account, SECRET, secret)
}

/** Whether requests to the account's server can be signed. */
export const hasFlowSecret = async (redis: Redis, seal: Seal, account: number): Promise<boolean> =>
  (await presentSecrets(redis, seal, account, SECRET)).length > 0
