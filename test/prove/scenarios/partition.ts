// A primary is cut off from its replicas and from the Sentinels, while clients reach it still: they go on to use it until
// they hear that another one was named, and what it took meanwhile is thrown away when it comes back.
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

const CUT_OFF_MS = 10_000
/** By then the Sentinels have named another one, and everybody has heard. */
const HEARD_MS = 8_000

const partitionScenario = (minReplicas: 0 | 1): Scenario => ({
  name: minReplicas > 0 ? 'partition' : 'partition-without-min-replicas',
  promise:
    minReplicas > 0
      ? 'A primary that is cut off from its replicas accepts and sends nothing, so that nothing is lost or doubled.'
      : 'Without replicas required, what a primary takes while it is cut off is lost, and no more than that.',
  run: (run) =>
    onRig(
      run,
      {
        ...{ topology: 'sentinel', replicas: 2, producers: 2, workers: 2 },
        env: { LANEWAY_REDIS_MIN_REPLICAS: String(minReplicas) },
        tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }],
      },
      async (rig) => {
        const { sentinels, tenant } = rig
        if (!sentinels) throw new Error('there are no Sentinels')
        const perSecond = run.full ? 300 : 40
        const rounds = run.full ? 5 : 1
        let posting = true
        const posted = (async () => {
          for (let second = 0; posting; second += 1) {
            await rig.client.post(tenant, recipientsOf(second, perSecond), perSecond)
          }
        })()
        const cutAt: number[] = []
        for (let round = 0; round < rounds; round += 1) {
          await pause(3_000)
          const primary = await sentinels.primary()
          cutAt.push(Date.now())
          await sentinels.cutOff(primary)
          await pause(CUT_OFF_MS)
          await sentinels.heal(primary)
          await sentinels.settled()
          run.say(`${rig.client.acknowledged()} accepted, ${round + 1} of ${rounds} partitions`)
        }
        posting = false
        await posted
        const flagsEarned = rounds * rig.workers.length * 4 * CONCURRENCY
        const { judgement, posted: log } = await testimonyAtQuiescence(rig, run, { flagsEarned })
        const atRisk = log.filter(({ answers }) =>
          answers.some(
            ({ status, atMs }) => status === 200 && cutAt.some((at) => atMs > at - 1_000 && atMs < at + HEARD_MS),
          ),
        ).length
        const most = minReplicas > 0 ? 0 : atRisk
        const figures = [
          { what: 'lost', value: judgement.lostSilently.length, unit: 'messages', atMost: most },
          { what: 'doubled in silence', value: judgement.sentTwiceSilently.length, unit: 'messages', atMost: most },
          { what: 'flagged', value: judgement.flagged.length, unit: 'messages' },
        ]
        if (minReplicas === 0) {
          // Counted above.
          const counted = / lost silently| sent twice silently| neither settled| ledger contradicts/
          judgement.violations = judgement.violations.filter((sentence) => !counted.test(sentence))
        }
        return { judgement, figures }
      },
    ),
})

export const partition = partitionScenario(1)
export const partitionWithoutMinReplicas = partitionScenario(0)
