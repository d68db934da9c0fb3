// Requests and shows template syncs: the same over HTTP and on the command line.
import { existingSenders } from '../accounts/named-senders.ts'
import { listSenders, type Sender } from '../accounts/senders.ts'
import {
  askForSync,
  findTemplateSync,
  plannedSyncs,
  type SyncedAccount,
  type TemplateSync,
} from '../accounts/template-syncs.ts'
import { invalidFields } from '../kernel/refusal.ts'
import type { TemplateSyncDocument } from '../model/templates/template-sync.ts'
import type { Redis } from '../redis/connect.ts'

/** Requests a sync of a sender's account at WhatsApp; without a sender, of all. Throws a Refusal. */
export async function askForSyncs(redis: Redis, account: number, sender?: string): Promise<SyncedAccount[]> {
  const all = await listSenders(redis, account)
  const named = sender === undefined ? all : existingSenders(all, sender, account)
  const wabaIds = [...new Set(named.flatMap((each) => wabaIdOf(each) ?? []))]
  if (wabaIds.length === 0) throw invalidFields([{ path: 'sender', message: whyNoList(named) }])
  const asked = wabaIds.map((wabaId) => ({ account, wabaId }))
  for (const each of asked) await askForSync(redis, each, 'person')
  return asked
}

const wabaIdOf = ({ provider, waba_id: wabaId }: Sender): string | undefined =>
  provider === 'cloud-api' && wabaId !== '' ? wabaId : undefined

const whyNoList = (senders: readonly Sender[]): string =>
  senders.some(({ provider }) => provider === 'cloud-api')
    ? 'its account at WhatsApp is not known; set its waba_id'
    : 'only WhatsApp’s Cloud API has a list of templates; import them as JSON'

/** The document of a sync. */
export const showSync = async (redis: Redis, synced: SyncedAccount): Promise<TemplateSyncDocument> =>
  documentOf(synced, await findTemplateSync(redis, synced))

/** All syncs of an account. */
export async function showSyncs(redis: Redis, account: number): Promise<TemplateSyncDocument[]> {
  const all = await plannedSyncs(redis, account)
  return Promise.all(all.map((synced) => showSync(redis, synced)))
}

function documentOf({ wabaId }: SyncedAccount, sync: TemplateSync): TemplateSyncDocument {
  const { state, problem, sentence, listed, added, changed, removed, not_sendable, unreadable, of_another } = sync
  // Requested again, and not begun: the last result is not its result.
  const isAskedAnew = (state === 'done' || state === 'failed') && (sync.asked_at ?? 0) > (sync.began_at ?? 0)
  const iso = (ms: number | undefined): string | null => (ms ? new Date(ms).toISOString() : null)
  return {
    waba_id: wabaId,
    state: isAskedAnew ? 'waiting' : state,
    problem: problem === '' || isAskedAnew ? null : { code: problem, sentence },
    asked_at: iso(sync.asked_at),
    began_at: iso(sync.began_at),
    ended_at: iso(sync.ended_at),
    again_at: iso(sync.again_at),
    ...{ listed, added, changed, removed, kept_deleted: sync.kept_deleted },
    ...{ not_sendable, unreadable, of_another },
  }
}
