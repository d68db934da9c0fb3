// The slots of lanes, of the numbers that are given out and of the queues move from one primary to another and back while
// messages flow.
import { messageKey, rootKeys, sharedQueuePrefix } from '../../../src/redis/keys.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

export const clusterReshard: Scenario = {
  name: 'cluster-reshard',
  promise: 'Slots of a cluster that are moved while messages flow lose, double and doubt none.',
  run: (run) =>
    onRig(
      run,
      {
        ...{ topology: 'cluster', replicas: 0, producers: 2, workers: 2 },
        tenants: Array.from({ length: 2 }, () => ({ wire: 'cloud-api', policy: 'at_least_once' }) as const),
      },
      async (rig) => {
        const { cluster } = rig
        if (!cluster) throw new Error('there is no cluster')
        const perSecond = run.full ? 150 : 25
        const keys = [
          ...rig.tenants.map(({ lane }) => messageKey(lane, '')),
          ...[rootKeys.sequences, rootKeys.dueLanes, sharedQueuePrefix('polls')],
        ]
        let moving = true
        const posting = rig.tenants.map(async (tenant, n) => {
          for (let second = 0; moving; second += 1) {
            await rig.client.post(tenant, recipientsOf(n * 10_000 + second, perSecond), perSecond)
          }
        })
        let moves = 0
        for (let round = 0; round < (run.full ? 10 : 2); round += 1) {
          for (const key of keys) {
            const from = await cluster.primaryOf(key)
            const to = cluster.servers[(cluster.servers.indexOf(from) + 1) % cluster.servers.length]
            if (!to) continue
            await cluster.moveSlot(await cluster.slotOf(key), from, to)
            moves += 1
            await pause(300)
          }
        }
        moving = false
        await Promise.all(posting)
        run.say(`${rig.client.acknowledged()} accepted, ${moves} slots moved`)
        // A claim whose answer went astray is in doubt.
        const found = await testimonyAtQuiescence(rig, run, { flagsEarned: moves * CONCURRENCY })
        const { judgement } = found
        return {
          judgement,
          figures: [
            { what: 'slots moved', value: moves, unit: 'slots' },
            { what: 'flagged', value: judgement.flagged.length, unit: 'messages' },
          ],
        }
      },
    ),
}
