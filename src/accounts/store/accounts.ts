// Accounts: the owners of everything else.
import { z } from 'zod'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { readRecord } from '../../redis/corrupt-record.ts'
import { accountKey, rootKeys } from '../../redis/keys.ts'
import { nextId } from '../../redis/sequence.ts'
import { type AccountSetting, accountSettings, type Policy } from '../settings.ts'

export { type AccountSetting, accountSettings, type Policy } from '../settings.ts'

/** The policies by the names that the first version gave them: accounts of that time still hold those. */
export const FIRST_POLICY_NAMES: ReadonlyMap<unknown, Policy> = new Map([
  ['must_arrive', 'at_least_once'],
  ['never_repeat', 'at_most_once'],
])
const renamed = (value: unknown): unknown => FIRST_POLICY_NAMES.get(value) ?? value

const accountSchema = z.object({
  id: z.coerce.number().int().positive(),
  name: z.string(),
  ...accountSettings,
  'policy.transactional': z.preprocess(renamed, accountSettings['policy.transactional']),
  'policy.campaign': z.preprocess(renamed, accountSettings['policy.campaign']),
})
export type Account = z.infer<typeof accountSchema>

/** An id for a new account; one that nobody uses leaves a gap. */
export const newAccountId = (redis: Redis): Promise<number> => nextId(redis, 'account')

/** Creates an account with the default settings, with a new id unless it brings one, and returns that. */
export async function createAccount(redis: Redis, name: string, given?: number): Promise<number> {
  const id = given ?? (await newAccountId(redis))
  await redis.hset(accountKey(id), { id, name })
  // Dies before this: nobody was given its id, and no list names it.
  await redis.sadd(rootKeys.accounts, id)
  return id
}

/** The account with its settings, defaults filled in; undefined when there is none. Throws a CorruptRecordError. */
export async function findAccount(redis: Redis, id: number): Promise<Account | undefined> {
  const raw = await redis.hgetall(accountKey(id))
  if (Object.keys(raw).length === 0) return undefined
  return readRecord(accountSchema, `account ${id}`, raw)
}

/** The same as it was within the last second, for every message. */
export const cachedAccount = cached(1_000, findAccount)

/** Every account, by id. Throws a CorruptRecordError when one cannot be read. */
export async function listAccounts(redis: Redis): Promise<Account[]> {
  const ids = (await redis.smembers(rootKeys.accounts)).map(Number).sort((a, b) => a - b)
  const accounts = await Promise.all(ids.map((id) => findAccount(redis, id)))
  return accounts.filter((account) => account !== undefined)
}

/** Changes settings, all or none. The values must already be ones that `accountSettings` allows. */
export async function setAccountSettings(
  redis: Redis,
  id: number,
  settings: Readonly<Partial<Record<AccountSetting, string>>>,
): Promise<void> {
  if (Object.keys(settings).length > 0) await redis.hset(accountKey(id), settings)
}

/** Changes one setting. The value must already be one that `accountSettings` allows. */
export async function setAccountSetting(
  redis: Redis,
  id: number,
  setting: AccountSetting,
  value: string,
): Promise<void> {
  await redis.hset(accountKey(id), setting, accountSettings[setting].parse(value))
}
