// The only worker dies with a backlog on the lane, and another one starts. Nothing new is posted, so nobody tells the
// new one that there is work. Webhooks are late, so that what was in flight is still open when its turn comes again.

import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'

export const backlogResumes: Scenario = {
  name: 'backlog-resumes',
  promise: 'The backlog of a dead worker is taken up by another one that nobody told about it.',
  run: (run) =>
    onRig(
      run,
      {
        workers: 1,
        // Slower than a busy machine posts, so that there is a backlog when the worker dies.
        tenants: [{ wire: 'cloud-api', policy: 'at_most_once', rate: 60 }],
        env: { LANEWAY_UNCONFIRMED_WAIT_SECONDS: '10' },
        simulator: { SIMULATOR_SENT_MS: '16000', SIMULATOR_DELIVERED_MS: '16100', SIMULATOR_READ_MS: '16200' },
      },
      async (rig) => {
        const { tenant } = rig
        const [worker] = rig.workers
        if (!worker) throw new Error('no worker')
        rig.providerLine.delayReplies(50, 150)
        const killedAt: number[] = []
        const rounds = run.full ? 5 : 1
        let judged = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
        for (let round = 0; round < rounds; round += 1) {
          await rig.client.post(tenant, recipientsOf(round, 500), 400)
          await worker.kill9()
          killedAt.push(Date.now())
          await worker.start()
          const flagsEarned = (round + 1) * CONCURRENCY
          judged = await testimonyAtQuiescence(rig, run, { flagsEarned })
        }
        const { judgement, ledger, messages } = judged
        const sentAt = ledger.map(({ atMs }) => atMs)
        const resumed = killedAt.map((killed) => Math.min(...sentAt.filter((atMs) => atMs > killed + 50)) - killed)
        const held = messages.flatMap(({ inside }) => inside?.history.filter(({ code }) => code === 'h') ?? [])
        const takenUp = held.map(({ atMs }) => atMs - Math.max(...killedAt.filter((killed) => killed < atMs)))
        const recoveryMs = Math.max(...resumed)
        const atMost = timeLimit(run, 15_000)
        const lastOf = `the last of ${held.length} messages in flight taken up after`
        return {
          judgement,
          recoveryMs,
          figures: [
            { what: 'backlog sent on after', value: recoveryMs, unit: 'ms', atMost },
            { what: lastOf, value: Math.max(0, ...takenUp), unit: 'ms', atMost },
          ],
        }
      },
    ),
}
