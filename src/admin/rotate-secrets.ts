// Reseals everything under the first of LANEWAY_SECRET_KEYS, while all parts run.

import { listAccounts } from '../accounts/accounts.ts'
import { findSender, replaceToken, type Sender, sortRetainedSenders, tokenContextOf } from '../accounts/senders.ts'
import { resealWebhookSecrets } from '../accounts/webhook-secrets.ts'
import { resealEndpoint } from '../events/store/endpoint-secrets.ts'
import { listReadableEndpoints } from '../events/store/endpoints.ts'
import { type Resealed, type Seal, SealError } from '../kernel/seal.ts'
import { FLOW_SECRETS, WEBHOOK_SECRETS } from '../model/accounts/secrets.ts'
import { resealErasedKey } from '../people/opt-outs/erased.ts'
import type { Redis } from '../redis/connect.ts'

/** The result of resealing. */
export interface Rotation extends Resealed {
  /** Under a key that is not among LANEWAY_SECRET_KEYS, or in a record that cannot be read: what they belong to. */
  unreadable: { kind: 'sender' | 'webhook' | 'opt-outs'; id: number }[]
}

/**
 * Reseals the tokens of all senders, the secrets of webhooks and flows of all accounts, their keys of erased opt-outs and the secrets of
 * endpoints under the first key, each in a step of its own. After an interruption it can be run again. A secret that cannot be opened
 * does not stop the others.
 */
export async function rotateSecrets(redis: Redis, seal: Seal): Promise<Rotation> {
  const rotation: Rotation = { sealed: 0, fresh: 0, unreadable: [] }
  const note = async (kind: Rotation['unreadable'][number]['kind'], id: number, work: () => Promise<Resealed>) => {
    try {
      const { sealed, fresh } = await work()
      rotation.sealed += sealed
      rotation.fresh += fresh
    } catch (error) {
      if (!(error instanceof SealError)) throw error
      rotation.unreadable.push({ kind, id })
    }
  }
  const { senders, broken } = await sortRetainedSenders(redis)
  for (const { lane } of broken) rotation.unreadable.push({ kind: 'sender', id: lane })
  for (const sender of senders) {
    const resealed = () => resealSender(redis, seal, sender)
    // The token of a removed sender is used for status polls only, and cannot be renewed.
    await note('sender', sender.id, sender.removed_at === undefined ? resealed : () => resealed().catch(leftAlone))
  }
  for (const { id } of await listAccounts(redis)) {
    for (const name of [...WEBHOOK_SECRETS, ...FLOW_SECRETS]) {
      await note('webhook', id, () => resealWebhookSecrets(redis, seal, id, name))
    }
    await note('opt-outs', id, () => resealErasedKey(redis, seal, id))
    const { endpoints, unreadable } = await listReadableEndpoints(redis, id)
    for (const _ of unreadable) rotation.unreadable.push({ kind: 'webhook', id })
    for (const endpoint of endpoints) {
      await note('webhook', id, () => resealEndpoint(redis, seal, endpoint))
    }
  }
  return rotation
}

function leftAlone(error: unknown): Resealed {
  if (error instanceof SealError) return { sealed: 0, fresh: 0 }
  throw error
}

/** Retries with a token that was renewed at the same moment. */
async function resealSender(redis: Redis, seal: Seal, listed: Sender): Promise<Resealed> {
  for (let sender: Sender | undefined = listed; sender; sender = await findSender(redis, listed.id)) {
    const { secrets, ...counts } = seal.reseal([sender.token], tokenContextOf(sender))
    const after = secrets[0] ?? sender.token
    if (after === sender.token || (await replaceToken(redis, sender, after))) return counts
  }
  return { sealed: 0, fresh: 0 }
}
