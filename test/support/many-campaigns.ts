// Many running campaigns of one account at once: the first is made as people make them, the others are copies of its
// record that share its frozen list.
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { parseCampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import type { CampaignService } from './campaigns.ts'
import { activeCampaignsOn, campaignLanes, campaignRecord } from './state/messages.ts'

/** Starts so many campaigns of the service's own account to one person each, on its lane, which is paused before. */
export async function startManyOnPausedLane(service: CampaignService, count: number): Promise<void> {
  const { redis, lane, config } = service
  const queues = openLaneQueues(redis)
  await queues.pause(lane)
  await queues.close()
  const { tag } = await service.addPeople(1)
  const first = parseCampaignId(await service.ready({ tags: [tag] }))
  if (!first) throw new Error('no campaign')
  const record = await campaignRecord(redis, { lane, number: first.number }).fields()
  const [seconds] = await redis.time()
  const started = Number(seconds) * 1_000
  const running = {
    state: 'running',
    epoch: 1,
    beat: started,
    started_at: started,
    resumed_at: started,
  }
  const queue = openCampaignQueue(redis)
  const folderOf = (number: number) => join(config.dataDir, campaignFolder({ lane, number }), '.')
  const folder = join(config.dataDir, campaignFolder(first), '.')
  mkdirSync(dirname(folder), { recursive: true })
  const numbers = Array.from({ length: count }, (_, i) => 1_000_000 + i)
  for (let from = 0; from < count; from += 200) {
    const some = numbers.slice(from, from + 200)
    const written: Promise<unknown>[] = []
    for (const number of some) {
      symlinkSync(folder, folderOf(number))
      written.push(
        campaignRecord(redis, { lane, number }).change({ ...record, ...running, number }),
        activeCampaignsOn(redis, lane).change({ [number]: 'running' }),
      )
    }
    await Promise.all(written)
    await Promise.all(some.map((number) => queue.add('fan-out', { lane, number }, 1)))
  }
  await campaignLanes(redis).add(lane)
  await queue.close()
}

/** Commands that Redis has answered so far, and by name. */
export async function commandsOf(redis: CampaignService['redis']): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const [, name = '', calls] of (await redis.info('commandstats')).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)) {
    counts.set(name, Number(calls))
  }
  return counts
}
