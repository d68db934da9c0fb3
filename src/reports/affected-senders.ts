// The accounts and senders that a webhook of WhatsApp affects. It names the account at WhatsApp (WABA), and sometimes a number; ours are
// found by the number, else by the `waba_id` of senders, else by the address that the webhook was posted to.
import { listReadableSenders, type Sender, senderOfPhoneNumberId } from '../accounts/senders.ts'
import { isSameNumber } from '../kernel/national-forms.ts'
import type { AccountUpdate } from '../providers/account-updates.ts'
import type { Redis } from '../redis/connect.ts'

/** An account of ours, and which of its senders a webhook is about. */
export interface Affected {
  account: number
  senders: readonly Sender[]
}

/**
 * The affected accounts; `account` is that of the address, undefined for the address of the installation. Empty when it is unknown: one
 * account must not learn of another's updates, nor stop for them.
 */
export async function affectedBy(
  redis: Redis,
  update: AccountUpdate,
  account: number | undefined,
): Promise<readonly Affected[]> {
  if (update.phoneNumberId !== undefined) {
    const sender = await senderOfPhoneNumberId(redis, update.phoneNumberId)
    if (sender && (account === undefined || sender.account === account)) return byAccount([sender])
  }
  const all = (await listReadableSenders(redis, account)).filter(({ provider }) => provider === 'cloud-api')
  const ofWaba = all.filter(({ waba_id: waba }) => waba !== '' && waba === update.wabaId)
  const unsure = all.filter(({ waba_id: waba }) => waba === '' || update.wabaId === undefined)
  const named = [...ofWaba, ...unsure].find(({ number }) => isSameNumber(number, update.digits ?? ''))
  if (named) return byAccount([named])
  if (ofWaba.length > 0) return byAccount(ofWaba)
  if (account !== undefined) return [{ account, senders: unsure }]
  const accounts = new Set(all.map((sender) => sender.account))
  return accounts.size === 1 ? byAccount(unsure) : []
}

function byAccount(senders: readonly Sender[]): Affected[] {
  const accounts = [...new Set(senders.map(({ account }) => account))]
  return accounts.map((account) => ({ account, senders: senders.filter((sender) => sender.account === account) }))
}
