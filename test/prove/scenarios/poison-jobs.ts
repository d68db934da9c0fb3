// Some messages crash every worker that takes them up, before it can claim them: a bug, put into a copy of the build.
// They must be dead-lettered after a bounded number of crashes, and no other message with them.
import { join } from 'node:path'
import { newUlid } from '../../../src/kernel/message-id.ts'
import { openLaneQueues } from '../../../src/lanes/queues.ts'
import { alteredBuild } from '../../testbed/altered-build.ts'
import { laneOf } from '../lookup.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { eventually } from '../wait.ts'

/** It kills the first worker among others, and three more that run it alone. */
const CRASHES = 4

/** Where a worker has taken a message up and not claimed it yet. */
export const TAKEN_UP = { file: 'worker/sending/read-jobs.js', find: 'const { content, trace, route } = payload' }

export const poisonJobs: Scenario = {
  name: 'poison-jobs',
  promise: 'Messages that crash every worker are dead-lettered with a reason, and all others are sent.',
  run: async (run) => {
    const recipients = recipientsOf(0, run.full ? 5_000 : 250)
    const poison = new Set(recipients.filter((_to, n) => n % (run.full ? 1_000 : 125) === 50))
    const build = alteredBuild(run.build, join(run.folder, 'dist'), {
      ...TAKEN_UP,
      replace: `
        if (${JSON.stringify([...poison])}.includes(payload.to)) process.kill(process.pid, 'SIGKILL')
        ${TAKEN_UP.find}`,
    })
    return onRig(
      { ...run, build },
      { workers: 2, supervised: true, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] },
      async (rig) => {
        const { tenant } = rig
        const begunAt = performance.now()
        await addUnreadableJob(rig.store, tenant.lane)
        await rig.client.post(tenant, recipients, run.full ? 200 : 100)
        const deadLetters = async () => (await laneOf(rig.liveProducer(), tenant))?.deadLetters ?? 0
        await eventually(async () => (await deadLetters()) > poison.size, 300_000)
        const recoveryMs = performance.now() - begunAt
        const flagsEarned = rig.crashes() * CONCURRENCY
        const { judgement, messages } = await testimonyAtQuiescence(rig, run, { flagsEarned })
        const aside = messages.filter(({ state }) => state === 'failed')
        const others = aside.filter(({ to }) => !poison.has(to)).length
        const spared = poison.size + others - aside.length
        return {
          judgement,
          recoveryMs,
          figures: [
            { what: 'crashes of workers', value: rig.crashes(), unit: 'crashes', atMost: CRASHES * poison.size },
            { what: 'poisonous messages not dead-lettered', value: spared, unit: 'messages', atMost: 0 },
            { what: 'other messages dead-lettered', value: others, unit: 'messages', atMost: 0 },
          ],
        }
      },
    )
  },
}

/** A job that no version can read: it must be dead-lettered at once and take no worker with it. */
async function addUnreadableJob(redis: Parameters<typeof openLaneQueues>[0], lane: number): Promise<void> {
  const queues = openLaneQueues(redis)
  const jobId = `msg_${lane}_${newUlid(Date.now())}`
  await queues.queueOf(lane).add('send', { v: 99 }, { jobId })
  await queues.close()
}
