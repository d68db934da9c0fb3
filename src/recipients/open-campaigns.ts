// A cache of the campaigns that a process sends for, with their list open and their template compiled: every chunk needs both, and for a
// small chunk they would cost more than its messages. A campaign that begins a new epoch is read again.

import { type FileStore, isFilesAway } from '../files/store.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey } from '../redis/keys.ts'
import { findCampaign, idOf } from './campaigns.ts'
import { type MessageSpec, messageSpecOf } from './recipient-message.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

/** Unused lists that are kept: each is some thousand lines. */
const MOST_IDLE = 16

/** A running campaign with its list. Call `release` when done. */
export interface OpenCampaign {
  spec: MessageSpec
  total: number
  account: number
  createdAtMs: number
  snapshot: Snapshot
  release: () => void
}

interface Entry {
  epoch: number
  opened: Promise<Omit<OpenCampaign, 'release'> | undefined>
  users: number
}

/** The list of a running campaign cannot be read on this machine. */
export class UnreadableListError extends Error {
  override name = 'UnreadableListError'
}

export type OpenCampaigns = ReturnType<typeof createOpenCampaigns>

/** `validityMs`: of campaigns without an end of their own. */
export function createOpenCampaigns(deps: { redis: Redis; files: FileStore; validityMs: number }) {
  const { redis } = deps
  const entries = new Map<string, Entry>()

  async function read(id: CampaignId): Promise<Omit<OpenCampaign, 'release'> | undefined> {
    const campaign = await findCampaign(redis, id)
    if (campaign?.state !== 'running') return undefined
    const spec = messageSpecOf(campaign, deps.validityMs)
    const snapshot = await openSnapshot(deps.files, id, campaign.snapshot).catch((cause: unknown) => {
      if (isFilesAway(cause)) throw cause
      throw new UnreadableListError(`the list of ${idOf(id)} cannot be read`, { cause })
    })
    return { spec, total: campaign.total, account: campaign.account, createdAtMs: campaign.created_at, snapshot }
  }

  function forget(name: string, entry: Entry): void {
    if (entries.get(name) === entry) entries.delete(name)
  }

  function forgetIdle(): void {
    for (const [name, entry] of entries) {
      if (entries.size <= MOST_IDLE) return
      if (entry.users === 0) forget(name, entry)
    }
  }

  return {
    /** The campaign, or undefined when it does not run. Throws an UnreadableListError, a FilesAwayError or a CorruptRecordError. */
    async open(id: CampaignId): Promise<OpenCampaign | undefined> {
      const name = idOf(id)
      const [state, epochText] = await redis.hmget(campaignKey(id.lane, id.number), 'state', 'epoch')
      const epoch = Number(epochText ?? 0)
      const known = entries.get(name)
      if (known && (state !== 'running' || known.epoch !== epoch)) forget(name, known)
      if (state !== 'running') return undefined
      const entry: Entry = entries.get(name) ?? { epoch, opened: read(id), users: 0 }
      entry.users += 1
      entries.delete(name)
      entries.set(name, entry)
      const release = (): void => {
        entry.users -= 1
        forgetIdle()
      }
      try {
        const opened = await entry.opened
        if (opened) return { ...opened, release }
      } catch (error) {
        forget(name, entry)
        release()
        throw error
      }
      forget(name, entry)
      release()
      return undefined
    },
  }
}
