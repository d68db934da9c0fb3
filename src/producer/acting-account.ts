// The account that a request is about: that of its key, or the one that an operator names in it.
import type { IncomingMessage } from 'node:http'
import { cachedAccount, findKeptAccount } from '../accounts/accounts.ts'
import { isOperator, NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { ApiError, notFound } from './errors.ts'
import type { Access, Caller } from './route.ts'

/** Names the account that an operator acts for; `?account=` does the same for links, which have no headers. */
export const ACCOUNT_HEADER = 'x-laneway-account'
export const ACCOUNT_QUERY = 'account'

/**
 * The key with the account that it acts for. Throws 400 `account_required` when an operator names none where one is
 * needed, and 404 for an account that does not exist or is not the key's.
 */
export async function actingFor(
  redis: Redis,
  key: Caller,
  access: Exclude<Access, { in: 'open' }>,
  named: string | undefined,
): Promise<Caller> {
  if (!isOperator(key)) {
    if (named !== undefined && named !== String(key.account)) throw notFound('The account')
    return key
  }
  if (named === undefined) {
    if ('withoutAccount' in access) return key
    throw accountMissing()
  }
  if (!/^[1-9]\d{0,15}$/.test(named)) throw missing(`${ACCOUNT_HEADER}: expected the number of an account.`)
  const account = Number(named)
  const find = 'removedToo' in access ? findKeptAccount : cachedAccount
  if ((await find(redis, account)) === undefined) throw notFound('The account')
  return { ...key, account }
}

/** Whether somebody acts on the machine itself, by no key: at the command line (in-process.ts). */
export const isHere = ({ id }: Caller): boolean => id === ''

/** The account that a request is about; undefined for all of them, where an operator names none. */
export const accountOf = ({ account }: Caller): number | undefined => (account === NO_ACCOUNT ? undefined : account)

/** The account that a request names, in its header or its query. */
export function namedAccount({ headers, url = '' }: IncomingMessage): string | undefined {
  const inHeader = headers[ACCOUNT_HEADER]
  if (inHeader !== undefined) return String(inHeader)
  const at = url.indexOf('?')
  return at === -1 ? undefined : (new URLSearchParams(url.slice(at)).get(ACCOUNT_QUERY) ?? undefined)
}

/** 400 for an operator that names no account where one is needed. */
export const accountMissing = (): ApiError =>
  missing(`Name the account that you act for in the header ${ACCOUNT_HEADER}: this key is of no account.`)

const missing = (message: string): ApiError =>
  new ApiError(400, 'account_required', message, { details: [{ path: ACCOUNT_HEADER, message: 'required' }] })
