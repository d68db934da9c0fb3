// Accounts: the owners of everything else.
import { z } from 'zod'
import { type AccountLimits, LIMIT_SETTINGS, type LimitSetting, limitFields } from '../model/accounts/limits.ts'
import { type AccountSetting, accountSettings, NEW_ACCOUNT } from '../model/accounts/settings.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { accountKey, rootKeys } from '../redis/keys.ts'
import { createListed, isThere, nextId, readRecord } from '../redis/records.ts'

export { type AccountSetting, accountSettings, type Policy } from '../model/accounts/settings.ts'

/** Empty or not there: the installation's. */
const ownLimit = z
  .string()
  .default('')
  .transform((text) => (text === '' ? null : Number(text)))
  .pipe(z.int().min(0).nullable())

const accountSchema = z.object({
  id: z.coerce.number().int().positive(),
  name: z.string(),
  ...accountSettings,
  ...limitFields(ownLimit),
})
export type Account = z.infer<typeof accountSchema>

/** An account, perhaps a removed one: since when (epoch ms). */
const keptSchema = accountSchema.extend({ removed_at: z.coerce.number().int().optional() })
export type KeptAccount = z.infer<typeof keptSchema>

/** An id for a new account; an unused one leaves a gap. */
export const newAccountId = (redis: Redis): Promise<number> => nextId(redis, 'account')

/** Creates an account with default settings and returns its id, a new one unless one is given. */
export async function createAccount(redis: Redis, name: string, given?: number): Promise<number> {
  const id = given ?? (await newAccountId(redis))
  await createListed(redis, accountKey(id), { id, name, ...NEW_ACCOUNT }, () => redis.sadd(rootKeys.accounts, id))
  return id
}

/**
 * The account with its settings, defaults filled in; undefined when there is none, or it was removed. Throws a
 * CorruptRecordError.
 */
export async function findAccount(redis: Redis, id: number): Promise<Account | undefined> {
  const found = await findKeptAccount(redis, id)
  if (found === undefined || found.removed_at !== undefined) return undefined
  const { removed_at: _, ...account } = found
  return account
}

/** The same, or a removed account whose data is retained. */
export async function findKeptAccount(redis: Redis, id: number): Promise<KeptAccount | undefined> {
  const raw = await redis.hgetall(accountKey(id))
  return isThere(raw) ? readRecord(keptSchema, `account ${id}`, raw) : undefined
}

/** From now on only `findKeptAccount` finds the account. */
export async function markAccountRemoved(redis: Redis, id: number, nowMs: number): Promise<void> {
  await redis.hset(accountKey(id), 'removed_at', nowMs)
}

/** Deletes name and settings of a removed account, except the named ones, which retained data needs. */
export async function clearAccount(redis: Redis, id: number, kept: readonly string[]): Promise<void> {
  await redis.hset(accountKey(id), 'name', '')
  const stays = ['id', 'name', 'removed_at', ...kept]
  const settings = (await redis.hkeys(accountKey(id))).filter((field) => !stays.includes(field))
  if (settings.length > 0) await redis.hdel(accountKey(id), ...settings)
}

/** Deletes the record of a removed account. The list comes last: after a crash before that, the next run finds it there. */
export async function dropAccount(redis: Redis, id: number): Promise<void> {
  await redis.del(accountKey(id))
  await redis.srem(rootKeys.accounts, id)
}

/** The same, cached for a second: for every message. */
export const cachedAccount = cached(1_000, findAccount)

/** The limits of the account, cached for a second. */
export const accountLimits = async (redis: Redis, id: number, installation: AccountLimits): Promise<AccountLimits> =>
  limitsOf(await cachedAccount(redis, id), installation)

/** The ids of all accounts with any data. */
export const keptAccounts = async (redis: Redis): Promise<number[]> =>
  (await redis.smembers(rootKeys.accounts)).map(Number).sort((a, b) => a - b)

/** Every account, by id. Throws a CorruptRecordError when one cannot be read. */
export async function listAccounts(redis: Redis): Promise<Account[]> {
  const accounts = await Promise.all((await keptAccounts(redis)).map((id) => findAccount(redis, id)))
  return accounts.filter((account) => account !== undefined)
}

/**
 * Changes settings and limits, all or none. The values must already be ones that `accountSettings` and `limitSchema` allow;
 * a limit of null is the installation's from then on.
 */
export async function setAccountSettings(
  redis: Redis,
  id: number,
  settings: { readonly [S in AccountSetting]?: string | undefined } & {
    readonly [L in LimitSetting]?: number | null | undefined
  },
): Promise<void> {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined)
  const written = Object.fromEntries(given.map(([name, value]) => [name, value ?? '']))
  if (Object.keys(written).length > 0) await redis.hset(accountKey(id), written)
}

const LIMITS = Object.entries(LIMIT_SETTINGS) as [LimitSetting, keyof AccountLimits][]

/** The limits of an account: its own, else the installation's. */
export function limitsOf(
  own: Readonly<Partial<Record<LimitSetting, number | null>>> | undefined,
  installation: AccountLimits,
): AccountLimits {
  const limits = { ...installation }
  if (own === undefined) return limits
  for (const [setting, name] of LIMITS) limits[name] = own[setting] ?? installation[name]
  return limits
}
