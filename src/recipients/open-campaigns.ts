// A cache of the campaigns that a process sends for, with their list open and their template compiled: every step needs both, and they
// would cost more than its messages. A campaign that begins a new epoch is read again.

import { LRUCache } from 'lru-cache'
import { type FileStore, isFilesAway } from '../files/store.ts'
import { mostEntries } from '../kernel/most-entries.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import type { Redis } from '../redis/connect.ts'
import { findCampaign, idOf } from './campaigns.ts'
import { type MessageSpec, messageSpecOf } from './recipient-message.ts'
import { openSnapshot, type Snapshot } from './snapshot.ts'

/** Most campaigns that are open at once. Each is some thousand lines of its list. */
const MOST = 1_000
/** A campaign that nothing was sent for in this time is closed, once another one is opened. */
const IDLE_MS = 60_000

/** A running campaign with its list. */
export interface OpenCampaign {
  spec: MessageSpec
  total: number
  account: number
  createdAtMs: number
  snapshot: Snapshot
}

interface Entry {
  epoch: number
  opened: Promise<OpenCampaign | undefined>
}

/** The list of a running campaign cannot be read on this machine. */
export class UnreadableListError extends Error {
  override name = 'UnreadableListError'
}

export type OpenCampaigns = ReturnType<typeof createOpenCampaigns>

/** `validityMs`: of campaigns without an end of their own. */
export function createOpenCampaigns(deps: { redis: Redis; files: FileStore; validityMs: number }) {
  const { redis } = deps
  const entries = new LRUCache<string, Entry>({
    ...mostEntries(MOST),
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    perf: performance,
  })

  async function read(id: CampaignId): Promise<OpenCampaign | undefined> {
    const campaign = await findCampaign(redis, id)
    if (campaign?.state !== 'running') return undefined
    const spec = messageSpecOf(campaign, deps.validityMs)
    const snapshot = await openSnapshot(deps.files, id, campaign.snapshot).catch((cause: unknown) => {
      if (isFilesAway(cause)) throw cause
      throw new UnreadableListError(`the list of ${idOf(id)} cannot be read`, { cause })
    })
    return { spec, total: campaign.total, account: campaign.account, createdAtMs: campaign.created_at, snapshot }
  }

  return {
    /**
     * The campaign as it was when this epoch was first opened; undefined when it does not run. Rejects with an UnreadableListError, a
     * FilesAwayError or a CorruptRecordError.
     */
    async open(id: CampaignId, epoch: number): Promise<OpenCampaign | undefined> {
      const name = idOf(id)
      const known = entries.get(name)
      if (known?.epoch === epoch) return known.opened
      entries.purgeStale()
      const entry: Entry = { epoch, opened: read(id) }
      entries.set(name, entry)
      // Tried again by the next who asks.
      const forget = () => entries.get(name) === entry && entries.delete(name)
      entry.opened.then((opened) => opened ?? forget(), forget)
      return entry.opened
    },
  }
}
