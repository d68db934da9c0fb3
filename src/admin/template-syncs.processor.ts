// Runs the template syncs of all accounts at WhatsApp: each at the start, every hour, after webhooks about templates, and when a person
// asks. Any worker takes a due sync under a lease on its account at WhatsApp. If the worker dies, the lease ends and another one continues.
import { sortSenders } from '../accounts/senders.ts'
import {
  dropSync,
  dueSyncs,
  findTemplateSync,
  isFirstToPlan,
  plannedSyncs,
  planSync,
  type SyncedAccount,
  setSyncDue,
} from '../accounts/template-syncs.ts'
import { releaseTemplates } from '../accounts/templates.ts'
import { createAccountSlots } from '../kernel/account-slots.ts'
import { repeatedly } from '../kernel/repeatedly.ts'
import { redisNowMs } from '../redis/clock.ts'
import { isRedisAway } from '../redis/errors.ts'
import { rootKeys, templateSyncLeaseKey } from '../redis/keys.ts'
import { deleteIf, holdLease, newHolder } from '../redis/lock.ts'
import { skipCorrupt } from '../redis/records.ts'
import { type SyncDeps, syncTemplates } from './sync-templates.ts'

const CHECK_EVERY_MS = 1_000
/** Accounts at WhatsApp that one worker lists at a time. */
const AT_ONCE = 6
/** Longer than a page takes, retried in ever smaller sizes; renewed before each page. */
const LEASE_MS = 120_000
/** Due syncs that are read at once, including those that other workers hold and those of accounts without a free slot. */
const MOST_DUE = 2_000
/** At the start of a worker, lists that are older are read again: webhooks may have been missed. */
const FRESH_MS = 600_000

/** Starts polling for due syncs, once a second. */
export function startTemplateSyncs(deps: SyncDeps): { stop: (limitMs: number) => Promise<void> } {
  const { redis, log } = deps
  const stopping = new AbortController()
  const slots = createAccountSlots(AT_ONCE)
  let isNew = true

  async function check(): Promise<void> {
    const nowMs = await redisNowMs(redis, rootKeys.templateSyncs)
    if (isNew) await refreshOld(deps, nowMs)
    if (isNew || (await isFirstToPlan(redis))) await planSyncs(deps, nowMs)
    isNew = false
    for (const synced of await dueSyncs(redis, nowMs, MOST_DUE)) {
      if (stopping.signal.aborted) return
      const { wabaId, account } = synced
      if (!slots.mayBegin(wabaId, account)) continue
      const holder = newHolder()
      if (!(await holdLease(redis, templateSyncLeaseKey(wabaId), { holder, ms: LEASE_MS }))) continue
      slots.begin(wabaId, account, run(synced, holder))
    }
  }

  async function run(synced: SyncedAccount, holder: string): Promise<void> {
    const lease = templateSyncLeaseKey(synced.wabaId)
    try {
      const mayGoOn = () => holdLease(redis, lease, { holder, ms: LEASE_MS, mayTake: false })
      const end = await syncTemplates(deps, synced, { stopped: stopping.signal, mayGoOn })
      if (end === undefined) await forget(deps, synced)
      else if (end !== 'stopped') await setNext(deps, synced, end.nextMs)
    } catch (error) {
      // It stays due: another worker, or this one, continues after the last page.
      if (!isRedisAway(error)) {
        log.error({ account: synced.account, waba_id: synced.wabaId, err: error }, 'templates.broken')
        await setNext(deps, synced, FRESH_MS).catch(() => {})
      }
    }
    await deleteIf(redis, lease, holder).catch(() => {})
  }

  const checking = repeatedly(CHECK_EVERY_MS, check, log)
  return {
    /** Syncs in progress continue elsewhere after their current page; waits for that at most `limitMs`. */
    async stop(limitMs: number): Promise<void> {
      checking.stop()
      stopping.abort()
      await slots.allOver(limitMs)
    },
  }
}

/** If a sync was requested while it ran, it runs once more: pages read before may have changed. */
async function setNext({ redis }: SyncDeps, synced: SyncedAccount, nextMs: number): Promise<void> {
  const nowMs = await redisNowMs(redis, rootKeys.templateSyncs)
  await setSyncDue(redis, synced, nowMs + nextMs)
  const { asked_at: askedMs = 0, began_at: beganMs = 0, state } = await findTemplateSync(redis, synced)
  if (state === 'done' && askedMs > beganMs) await setSyncDue(redis, synced, nowMs)
}

/**
 * Plans accounts at WhatsApp that senders belong to and that nobody has planned yet, and forgets those that none belongs to. A broken
 * sender might belong to any, so nothing of its account is forgotten.
 */
async function planSyncs(deps: SyncDeps, nowMs: number): Promise<void> {
  const known = new Set<string>()
  const { senders, broken } = await sortSenders(deps.redis)
  const unsure = new Set(broken.map(({ account }) => account))
  for (const { provider, account, waba_id: wabaId } of senders) {
    if (provider !== 'cloud-api' || wabaId === '') continue
    known.add(`${account}/${wabaId}`)
    await planSync(deps.redis, { account, wabaId }, nowMs)
  }
  for (const synced of await plannedSyncs(deps.redis)) {
    const isUsed = known.has(`${synced.account}/${synced.wabaId}`)
    if (!isUsed && !unsure.has(synced.account)) await forget(deps, synced)
  }
}

async function refreshOld({ redis }: SyncDeps, nowMs: number): Promise<void> {
  for (const synced of await plannedSyncs(redis)) {
    const sync = await findTemplateSync(redis, synced).catch(skipCorrupt)
    // A broken record has no readable end; its sync logs that when it is due.
    if (sync?.state === 'done' && (sync.ended_at ?? 0) < nowMs - FRESH_MS) await setSyncDue(redis, synced, nowMs)
  }
}

async function forget({ redis }: SyncDeps, synced: SyncedAccount): Promise<void> {
  await releaseTemplates(redis, synced.account, synced.wabaId)
  await dropSync(redis, synced)
}
