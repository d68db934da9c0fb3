// Accounts: the owners of everything else.
import { z } from 'zod'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { readRecord } from '../../redis/corrupt-record.ts'
import { accountKey, rootKeys } from '../../redis/keys.ts'
import { nextId } from '../../redis/sequence.ts'

const policy = z.enum(['at_least_once', 'at_most_once'])
export type Policy = z.infer<typeof policy>

/** Settings of an account by the name people type, each with its default. */
export const accountSettings = {
  contacts_shape: z.enum(['records', 'contacts']).default('records'),
  template_check: z.enum(['on', 'off']).default('on'),
  'policy.transactional': policy.default('at_least_once'),
  'policy.campaign': policy.default('at_most_once'),
}
export type AccountSetting = keyof typeof accountSettings

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

/** Creates an account with the default settings and returns its id. */
export async function createAccount(redis: Redis, name: string): Promise<number> {
  const id = await nextId(redis, 'account')
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

/** Changes one setting. The value must already be one that `accountSettings` allows. */
export async function setAccountSetting(
  redis: Redis,
  id: number,
  setting: AccountSetting,
  value: string,
): Promise<void> {
  await redis.hset(accountKey(id), setting, accountSettings[setting].parse(value))
}
