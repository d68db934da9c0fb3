// The bucket that holds the lists of recipients goes away while a campaign is sent from it, and comes back. Messages that
// need no file go on all the while; the campaign waits and goes on by itself. On a real S3 server.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { S3_KEYS, type S3Server, startS3Server } from '../../testbed/s3-server.ts'
import { isCampaignDone, judgeCampaign, startCampaign } from '../campaign.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario, timeLimit, untilDone } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'

/** Of the campaign. A list is read well ahead of what is sent, so it must be much longer than that. */
const RATE = { full: 500, small: 300 }
const PEOPLE = { full: 60_000, small: 6_000 }
const OUTAGES = { full: 3, small: 1 }
const OUTAGE_MS = { full: 30_000, small: 6_000 }
const SINGLES_PER_SECOND = 20

export const s3Outage: Scenario = {
  name: 's3-outage',
  promise: 'While the bucket is away a campaign waits and single messages go on; afterwards everybody is reached once.',
  async run(run) {
    if (spawnSync('swift-proxy-server', ['--help']).error)
      return { skipped: 'no S3 server here: swift is not installed' }
    const size = run.full ? 'full' : 'small'
    const s3 = await startS3Server(join(run.folder, 'swift'))
    try {
      const wire = { wire: 'cloud-api', policy: 'at_most_once' } as const
      const bucket = `s3://${s3.bucket}/files?endpoint=${s3.endpoint}&path_style=true`
      const tenants = [{ ...wire, campaign: true, rate: RATE[size] } as const, wire]
      const env = { ...S3_KEYS, LANEWAY_FILES_URL: bucket }
      return await onRig(run, { workers: 2, tenants, env }, (rig) => play(run, rig, s3))
    } finally {
      await s3.close()
    }
  },
}

async function play(run: Run, rig: Rig, s3: S3Server): Promise<Finding> {
  const size = run.full ? 'full' : 'small'
  const [, singles] = rig.tenants
  if (!singles) throw new Error('there is nobody to send single messages')
  const people = recipientsOf(0, PEOPLE[size])
  const isOfCampaign = new Set(people)
  const taken = async () => (await rig.chatProduct.ledger()).filter(({ to }) => isOfCampaign.has(to)).length
  const posting = { on: true }
  const id = await startCampaign(rig, people)
  // For more than an hour.
  const others = recipientsOf(1, 100_000)
  const load = (async () => {
    for (let at = 0; posting.on; at += SINGLES_PER_SECOND) {
      await rig.client.post(singles, others.slice(at, at + SINGLES_PER_SECOND), SINGLES_PER_SECOND)
    }
  })()

  let recoveryMs = 0
  let waited = 0
  const violations: string[] = []
  for (let n = 0; n < OUTAGES[size]; n += 1) {
    await rig.chatProduct.hasTaken((await rig.chatProduct.count()) + 200)
    await s3.stop()
    await pause(OUTAGE_MS[size])
    const before = await taken()
    if (before < people.length) waited += 1
    await s3.start()
    const backAt = performance.now()
    const goesOn = async () => (await taken()) > before
    if (before < people.length && !(await eventually(goesOn, run.quiescenceLimitMs)))
      violations.push('the campaign does not go on')
    recoveryMs = Math.max(recoveryMs, performance.now() - backAt)
    run.say(`${before} of ${people.length} at the end of outage ${n + 1}`)
  }
  await untilDone(run, violations, 'the campaign is not done in time', () => isCampaignDone(rig, id))
  posting.on = false
  await load

  const posted = rig.client.log
  const refused = posted.flatMap(({ answers }) => answers).filter(({ status }) => status !== 200).length
  await untilDone(run, violations, 'not all single messages were sent', async () => {
    const sent = new Set((await rig.chatProduct.ledger()).map(({ to }) => to))
    return posted.every(({ to }) => sent.has(to)) || String(sent.size)
  })
  const isTheirs = ({ to }: { to: string }) => isOfCampaign.has(to)
  const judgement = await judgeCampaign(rig, run, id, people, { flagsEarned: 0, violations, isTheirs })
  return {
    judgement,
    recoveryMs,
    figures: [
      { what: 'outages during which recipients waited', value: waited, unit: 'outages', atLeast: 1 },
      { what: 'campaign goes on after', value: recoveryMs, unit: 'ms', atMost: timeLimit(run, 15_000) },
      { what: 'single messages meanwhile', value: posted.length, unit: 'messages', atLeast: SINGLES_PER_SECOND },
      { what: 'answers to them other than 200', value: refused, unit: 'answers', atMost: 0 },
      { what: 'sent twice', value: judgement.sentTwice.length, unit: 'messages', atMost: 0 },
    ],
    violations,
  }
}
