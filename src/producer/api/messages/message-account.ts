// The account of a message that an operator asks about: its id alone says which one.
import { keptAccounts } from '../../../accounts/accounts.ts'
import { cachedSender } from '../../../accounts/senders.ts'
import { parseMessageId } from '../../../kernel/message-id.ts'
import { archiveOf } from '../../../lanes/archive/archive.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import type { Caller } from '../../route.ts'

/** For an operator that acts for no account: the same for the account that has the message. Any other caller stays as it is. */
export async function forMessage(redis: Redis, caller: Caller, name: string): Promise<Caller> {
  if (accountOf(caller) !== undefined) return caller
  const id = parseMessageId(name)
  const account = id ? (await cachedSender(redis, id.lane))?.account : await accountWithReceived(redis, name)
  return account === undefined ? caller : { ...caller, account }
}

/** Received messages are filed under their account, which WhatsApp's id does not contain. */
async function accountWithReceived(redis: Redis, id: string): Promise<number | undefined> {
  for (const account of await keptAccounts(redis)) {
    if ((await archiveOf(redis).find({ account, id })) !== undefined) return account
  }
  return undefined
}
