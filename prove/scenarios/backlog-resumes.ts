// The only worker dies with a backlog on the lane, and another one starts. Nothing new is posted, so nobody tells the
// new one that there is work.
import { recipientsOf } from '../recipients.ts'
import { testimonyAtRest } from '../rest.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'
import { pause } from '../wait.ts'

export const backlogResumes: Scenario = {
  name: 'backlog-resumes',
  promise: 'The backlog of a dead worker is taken up by another one that nobody told about it.',
  run: (run) =>
    onRig(run, { workers: 1, tenants: [{ wire: 'cloud-api', policy: 'must_arrive', rate: 100 }] }, async (rig) => {
      const [tenant] = rig.tenants
      const [worker] = rig.workers
      if (!tenant || !worker) throw new Error('no tenant or no worker')
      rig.providerLine.delayReplies(100, 300)
      const killedAt: number[] = []
      const rounds = run.full ? 5 : 1
      for (let round = 0; round < rounds; round += 1) {
        await rig.client.post(tenant, recipientsOf(round, 500), 400)
        await worker.kill9()
        killedAt.push(Date.now())
        await worker.start()
        await pause(run.full ? 15_000 : 0)
      }
      const flagsEarned = rounds * CONCURRENCY
      const { judgement, ledger, messages } = await testimonyAtRest(rig, {
        limitMs: 60_000,
        flagsEarned,
        say: run.say,
      })
      const sentAt = ledger.map(({ atMs }) => atMs)
      const resumed = killedAt.map((killed) => Math.min(...sentAt.filter((atMs) => atMs > killed + 50)) - killed)
      const held = messages.flatMap(({ inside }) => inside?.story.filter(({ code }) => code === 'h') ?? [])
      const orphans = held.map(({ atMs }) => atMs - Math.max(...killedAt.filter((killed) => killed < atMs)))
      const recoveryMs = Math.max(...resumed)
      const atMost = timeLimit(run, 15_000)
      return {
        judgement,
        recoveryMs,
        figures: [
          { what: 'backlog sent on after', value: recoveryMs, unit: 'ms', atMost },
          {
            what: `the last of ${held.length} messages in flight taken up after`,
            value: Math.max(0, ...orphans),
            unit: 'ms',
            atMost,
          },
        ],
      }
    }),
}
