// A campaign with some jobs that can never be run, because they were broken on their way: they are dead-lettered before
// anybody claims them. Their recipients end as failed, everybody else gets the message, and the campaign ends.

import { SEND_JOB } from '../../../src/jobs/send.ts'
import { messageId } from '../../../src/kernel/message-id.ts'
import { CAMPAIGN_PRIORITY } from '../../../src/lanes/add-messages.ts'
import { openLaneQueues } from '../../../src/lanes/queues.ts'
import { parseCampaignId } from '../../../src/model/campaigns/campaign-id.ts'
import { campaignMessageUlid } from '../../../src/model/campaigns/message-ids.ts'
import { findCampaign } from '../../../src/recipients/campaigns.ts'
import { describeCampaign, isCampaignDone, judgeCampaign, startCampaign } from '../campaign.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario, timeLimit, untilDone } from '../scenario.ts'
import { eventually } from '../wait.ts'

const BROKEN = 5
/** Slow enough that the last recipients get their broken jobs before they are fed. */
const RATE = 100
const FULL_RATE = 1_000
const END_LIMIT_S = 5

export const deadLetterInCampaign: Scenario = {
  name: 'dead-letter-in-campaign',
  promise: 'A campaign with dead letters ends: they count as failed, everybody else is sent to once.',
  run(run) {
    const rate = run.full ? FULL_RATE : RATE
    const tenant = { wire: 'cloud-api', policy: 'at_most_once', campaign: true, rate } as const
    return onRig(run, { tenants: [tenant] }, (rig) => play(rig, run))
  },
}

async function play(rig: Rig, run: Run): Promise<Finding> {
  const violations: string[] = []
  const people = recipientsOf(0, run.full ? 20_000 : 400)
  const id = await startCampaign(rig, people)
  const broken = await breakJobs(rig, id, people)
  const wentOut = async () => (await rig.chatProduct.ledger()).length
  await eventually(async () => (await wentOut()) >= people.length - broken, run.quiescenceLimitMs, 50)
  const sentAt = performance.now()
  await untilDone(run, violations, 'the campaign is not done in time', () => isCampaignDone(rig, id))
  const seconds = (performance.now() - sentAt) / 1_000
  const judgement = await judgeCampaign(rig, run, id, people, { flagsEarned: 0, violations })
  const failed = (await describeCampaign(rig, id)).shares.get('failed') ?? 0
  if (failed !== broken) violations.push(`${broken} jobs were broken, and ${failed} recipients count as failed`)
  return {
    judgement,
    figures: [
      { what: 'dead letters', value: broken, unit: '', atLeast: BROKEN },
      { what: 'from the last message to the end', value: seconds, unit: 's', atMost: timeLimit(run, END_LIMIT_S) },
    ],
    violations,
  }
}

/**
 * Gives the last recipients jobs of their own without content, as they would have after they had killed
 * the workers that read them. Returns how many there are.
 */
async function breakJobs({ store, tenant }: Rig, name: string, people: readonly string[]): Promise<number> {
  const id = parseCampaignId(name)
  const startedAt = id && (await findCampaign(store, id))?.started_at
  if (startedAt === undefined) throw new Error('the campaign was not started')
  const queues = openLaneQueues(store)
  for (let place = people.length - BROKEN; place < people.length; place += 1) {
    const jobId = messageId(tenant.lane, campaignMessageUlid(name, startedAt, place, people[place] ?? ''))
    await queues.queueOf(tenant.lane).add(SEND_JOB, {}, { jobId, priority: CAMPAIGN_PRIORITY })
  }
  queues.wake(tenant.lane)
  await queues.close()
  return BROKEN
}
