// Receives a webhook, from top to bottom: its signature is checked, its body read, names of people learned; then statuses,
// received messages and preferences are stored, and account updates applied.
//
// Everything in a webhook is stored before it is answered 200. While Redis is away, or holds other data than ours, the answer
// is 503, and WhatsApp sends it again for days. Storing it twice changes nothing. Any other error is logged and answered 200: a
// repeat would fail as well, and no item waits for another.
import { setImmediate as nextTick } from 'node:timers/promises'
import { noteWebhook } from '../../../accounts/webhook-arrivals.ts'
import type { Log } from '../../../kernel/log.ts'
import { NO_ACCOUNT } from '../../../model/accounts/permissions.ts'
import { isSigned, readWebhook } from '../../../providers/cloud-webhook.ts'
import { isRedisAway } from '../../../redis/errors.ts'
import { assertSameInstallation } from '../../../redis/installation.ts'
import { parseRaw } from '../../body.ts'
import { ApiError } from '../../errors.ts'
import type { ContextOf } from '../../route.ts'
import { applyStatus, type StatusDeps } from './apply-status.ts'
import type { Learning } from './learn.ts'
import { mayGoOn } from './may-go-on.ts'
import type { webhooks } from './routes.ts'
import { type ReceivedDeps, storePreference, storeReceived } from './store-received.ts'
import { takeAccountUpdate, type UpdateDeps } from './take-account-update.ts'

/** Updates that are stored at the same time. */
const AT_ONCE = 200

type WebhookDeps = StatusDeps & ReceivedDeps & UpdateDeps & { log: Log; learning: Learning }

/** The account that a webhook is for, undefined for all of them, and the secrets that may have signed it. */
export interface Source {
  account: number | undefined
  secrets: readonly string[]
}

/** Stores all of a webhook, or rejects: with a 401 or 400, or as Redis does while it is away. */
export async function receive(
  deps: WebhookDeps,
  { raw, headers }: Pick<ContextOf<typeof webhooks.report>, 'raw' | 'headers'>,
  { account, secrets }: Source,
): Promise<void> {
  const signature = headers['X-Hub-Signature-256']
  if (!secrets.some((secret) => isSigned(raw, signature, secret))) {
    // The secrets of an account may be missing because all data are.
    if (secrets.length === 0) await assertSameInstallation(deps.redis)
    // Without a secret there may be no such account.
    else noteWebhook(deps.redis, account ?? NO_ACCOUNT, 'refused', Date.now())
    throw badSignature()
  }
  // Checked first: with foreign data in Redis our own items would look like others' and be dropped.
  await assertSameInstallation(deps.redis)
  noteWebhook(deps.redis, account ?? NO_ACCOUNT, 'good', Date.now())
  const content = await readWebhook(await parseRaw(raw))
  if (!content) throw new ApiError(400, 'invalid_body', 'The body is not a webhook of WhatsApp.')
  if (content.unreadable > 0) deps.log.warn({ items: content.unreadable }, 'webhook.unreadable_items')
  // Names first, so that opt-outs in this webhook count under all names of a person. If names cannot be stored, as while Redis is
  // full, reports are applied all the same, and the webhook comes again.
  const errors = await deps.learning.learnAccounts(content.numbers, account)
  errors.push(...(await deps.learning.learnPeople(content.namings, account)))

  const work = [
    ...content.statuses.map((update) => () => applyStatus(deps, update, account)),
    ...content.received.map((message) => () => storeReceived(deps, message, account)),
    ...content.preferences.map((preference) => () => storePreference(deps, preference, account)),
  ]
  // Many at once share the connection's round trips; all of them would block the event loop for 30 ms.
  for (let at = 0; at < work.length; at += AT_ONCE) {
    const done = await Promise.allSettled(work.slice(at, at + AT_ONCE).map((each) => each()))
    for (const each of done) if (each.status === 'rejected') errors.push(each.reason)
    // Redis may have answered all of them within one tick.
    await nextTick()
  }
  // One after the other: of two about the same thing, the second must find what the first has written.
  for (const update of content.accountUpdates)
    if (!(await mayGoOn(takeAccountUpdate(deps, update, account), errors))) break
  const faults = errors.filter((error) => !isRedisAway(error))
  if (faults.length > 0) deps.log.error({ items: faults.length, err: faults[0] }, 'webhook.items_failed')
  if (faults.length < errors.length) throw errors.find(isRedisAway)
}

/** The refusal of a webhook whose signature is wrong. */
export const badSignature = (): ApiError =>
  new ApiError(401, 'bad_signature', 'X-Hub-Signature-256 does not match the body.')
