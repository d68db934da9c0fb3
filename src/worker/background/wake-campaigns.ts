// Wakes parked campaigns whose messages move: each that was taken up makes room on the lane, and the last one ends the
// campaign. A wake that is lost costs time only: a parked campaign is looked at by time as well.
import { findParked } from '../../campaigns/store/fan-out-state.ts'
import type { CampaignQueue } from '../../campaigns/store/queue.ts'
import { campaignJobId } from '../../jobs/campaigns.ts'
import type { Log } from '../../log.ts'
import type { Redis } from '../../redis/connect.ts'

/** What moved within this time is looked up together: a command for each lane, at most this often. */
const TOGETHER_MS = 150

/** Collects the campaigns whose messages moved and wakes those that are parked, every TOGETHER_MS. */
export function createCampaignWake({ redis, queue, log }: { redis: Redis; queue: CampaignQueue; log: Log }) {
  /** Numbers of campaigns, by lane. */
  let moved = new Map<number, Set<number>>()
  let timer: NodeJS.Timeout | undefined
  let isStopped = false

  async function wakeParked(): Promise<void> {
    timer = undefined
    const lanes = moved
    moved = new Map()
    for (const [lane, set] of lanes) {
      const numbers = [...set]
      for (const [i, parked] of (await findParked(redis, lane, numbers)).entries()) {
        const number = numbers[i]
        // Whoever waits for a hand is woken when one is free.
        if (number === undefined || parked?.reason !== 'idle') continue
        await queue.wake('fan-out', campaignJobId('fan-out', { lane, number }, parked.epoch))
      }
    }
  }

  function noteTaken(lane: number, run: number): void {
    if (isStopped) return
    moved.set(lane, (moved.get(lane) ?? new Set()).add(run))
    timer ??= setTimeout(() => {
      wakeParked().catch((error: unknown) => log.debug({ err: error }, 'campaigns.not_woken'))
    }, TOGETHER_MS)
  }

  return {
    /** Messages of a campaign were worked on. */
    noteTaken,

    stop(): void {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
