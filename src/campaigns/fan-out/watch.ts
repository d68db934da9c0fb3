// Looks after campaigns that should move by themselves: starts those whose time has come, takes over those whose
// fan-out has died, gives those a job back that lost it. Every worker watches; each step is harmless when taken twice.

import { Refusal } from '../../accept/refusal.ts'
import type { Log } from '../../log.ts'
import { BrokenRecordError } from '../../redis/corrupt-record.ts'
import { redisNowMs } from '../../redis/heartbeats.ts'
import { type SteerDeps, startCampaign } from '../commands/lifecycle.ts'
import { type AwakeCampaign, awakeCampaigns, findCampaign, idOf, moveCampaign, takeOver } from '../store/campaigns.ts'
import { blockBroken } from './block.ts'

export const WATCH_MS = 500
/** A fan-out that works gives a sign of life several times a second. */
const SILENT_MS = 1_000
/** A campaign that could not be looked after is left alone for as long as it has been failing, this at most. */
const MOST_PATIENCE_MS = 60_000

type WatchDeps = SteerDeps & { log: Log }

/** What the watch remembers of a campaign from one look to the next. */
interface Memory {
  /** Heartbeat of the fan-out. */
  beat?: string
  /** Not looked after before that (performance.now), and how long the wait was. */
  notBefore: number
  waitMs: number
}

/** One look at all campaigns that are awake. */
export function createWatch(deps: WatchDeps): () => Promise<void> {
  let memories = new Map<string, Memory>()
  return async () => {
    const awake = await awakeCampaigns(deps.redis)
    const remembered = memories
    // Of campaigns that sleep by now, or move on to another piece of work, nothing is remembered.
    memories = new Map()
    for (const campaign of awake) {
      const name = `${idOf(campaign.id)} ${campaign.state}`
      const memory = remembered.get(name) ?? { notBefore: 0, waitMs: 0 }
      memories.set(name, memory)
      if (performance.now() < memory.notBefore) continue
      try {
        await lookAfter(deps, campaign, memory)
      } catch (error) {
        putOff(memory)
        deps.log.error({ campaign: idOf(campaign.id), err: error }, 'campaign.watch_failed')
        if (error instanceof BrokenRecordError) await blockBroken(deps, campaign.id).catch(() => {})
      }
    }
  }
}

function putOff(memory: Memory): void {
  memory.waitMs = Math.min(MOST_PATIENCE_MS, Math.max(2 * WATCH_MS, 2 * memory.waitMs))
  memory.notBefore = performance.now() + memory.waitMs
}

async function lookAfter(deps: WatchDeps, { id, state }: AwakeCampaign, memory: Memory): Promise<void> {
  if (state === 'running') {
    const found = await takeOver(deps.redis, id, SILENT_MS, memory.beat ?? 'none')
    if (found.kind === 'on') memory.beat = found.beat
    if (found.kind !== 'taken') return
    deps.log.warn({ campaign: idOf(id), epoch: found.epoch }, 'campaign.taken_over')
    return deps.queue.add('fan-out', id, found.epoch)
  }
  const campaign = await findCampaign(deps.redis, id)
  if (campaign === undefined) return
  if (campaign.state === 'checking') {
    await deps.queue.add('preflight', id, campaign.epoch)
    // While the job is there that changes nothing. When it has failed, it is not to be tried twice a second.
    return putOff(memory)
  }
  const isDue = campaign.state === 'scheduled' && (campaign.scheduled_at ?? 0) <= (await redisNowMs(deps.redis))
  if (!isDue && !(campaign.state === 'ready' && campaign.starts_itself)) return
  try {
    await startCampaign(deps, campaign)
    deps.log.info({ campaign: idOf(id) }, 'campaign.started')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Another worker was faster, or the template is not approved any more: then a person has to mend that.
    if (error.code === 'wrong_state') return
    const problems = [{ path: 'template.name', message: error.message }]
    const preflight = JSON.stringify({ ...campaign.preflight, problems })
    await moveCampaign(deps.redis, id, 'block', deps.retentionMs, { epoch: campaign.epoch, fields: { preflight } })
  }
}
