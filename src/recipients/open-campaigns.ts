// A cache of the campaigns that a process sends for, with their list open and their template compiled: every chunk needs both, and for a
// small chunk they would cost more than its messages. A campaign that begins a new epoch is read again.
import { type FileStore, isFilesAway } from '../files/store.ts'
import type { SendPayload } from '../jobs/send.ts'
import { acceptedAtMs, type MessageId } from '../kernel/message-id.ts'
import type { CampaignId } from '../model/campaigns/campaign.ts'
import { placeInId } from '../model/campaigns/message-ids.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignKey } from '../redis/keys.ts'
import { findCampaign, idOf, runningOn } from './campaigns.ts'
import { buildMessage, type MessageSpec, messageSpecOf } from './recipient-message.ts'
import { readRecipientStates } from './recipient-states.ts'
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

// Finds unclaimed messages of chunks, of which nothing but their place in the list is stored. Their id names the start of their campaign
// and that place.

/** Where lists are, and how long messages of a campaign without an end of its own may be sent. */
export interface ListSettings {
  files: FileStore
  validityMs: { campaign: number }
}

/** The content of a message that waits in a chunk of a running campaign; else undefined. */
export async function findInChunk(redis: Redis, id: MessageId, lists: ListSettings): Promise<SendPayload | undefined> {
  const { lane, ulid } = id
  const [startedAt, place] = [acceptedAtMs(ulid), placeInId(ulid)]
  for (const number of await startedThen(redis, lane, startedAt, place)) {
    const campaign = await findCampaign(redis, { lane, number })
    if (campaign?.state !== 'running' || place >= Math.min(campaign.next, campaign.total)) continue
    const spec = messageSpecOf(campaign, lists.validityMs.campaign)
    // On a machine without the list the message cannot be found.
    const snapshot = await openSnapshot(lists.files, campaign, campaign.snapshot).catch(() => undefined)
    if (snapshot === undefined) continue
    const [recipient] = await snapshot.read(place, 1)
    const message = recipient && buildMessage(spec, recipient, place)
    if (message?.ulid !== ulid) continue
    const [state] = await readRecipientStates(redis, campaign, place, 1)
    return state === undefined ? message.payload : undefined
  }
  return undefined
}

/** Numbers of the lane's running campaigns that began at this time and have been fed beyond this place. */
async function startedThen(redis: Redis, lane: number, startedAtMs: number, place: number): Promise<number[]> {
  const running = await runningOn(redis, lane)
  const found = await Promise.all(running.map((number) => redis.hmget(campaignKey(lane, number), 'started_at', 'next')))
  return running.filter((_number, i) => {
    const [startedAt, next] = found[i] ?? []
    return Number(startedAt) === startedAtMs && place < Number(next)
  })
}
