// A campaign of which some jobs can never be run, because they were broken on their way: they are dead-lettered before
// anybody claims them. Their recipients end as failed, everybody else gets the message, and the campaign ends.
import { laneBacklogKeys, laneJobKey } from '../../src/redis/bullmq-layout.ts'
import { describeCampaign, judgeCampaign, startCampaign } from '../campaign.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario, timeLimit } from '../scenario.ts'
import { eventually } from '../wait.ts'

const BROKEN = 5
/** Slow enough that jobs are found while they wait. */
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
  const broken = await breakJobs(rig, run)
  const wentOut = async () => (await rig.chatProduct.ledger()).length
  await eventually(async () => (await wentOut()) >= people.length - broken, run.quiescenceLimitMs, 50)
  const sentAt = performance.now()
  const isDone = async () => (await describeCampaign(rig, id)).state === 'done'
  if (!(await eventually(isDone, run.quiescenceLimitMs, 50))) violations.push('the campaign is not done in time')
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

/** Takes their content from jobs that wait at the end of the lane; returns how many were still waiting then. */
async function breakJobs({ store, tenant }: Rig, run: Run): Promise<number> {
  const { prioritized } = laneBacklogKeys(tenant.lane)
  const areWaiting = async () => (await store.zcard(prioritized)) > 10 * BROKEN
  if (!(await eventually(areWaiting, run.quiescenceLimitMs, 10))) throw new Error('no jobs wait on the lane')
  const jobs = await store.zrevrange(prioritized, 0, BROKEN - 1)
  for (const job of jobs) await store.hset(laneJobKey(tenant.lane, job), 'data', '{}')
  return jobs.length
}
