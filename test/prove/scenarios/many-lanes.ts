// Five hundred senders, twenty of them busy: the others must cost nothing once they are idle.

import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'
import { eventually } from '../wait.ts'

const LANES = 500
const BUSY = 20
/** Each lane that is open holds a connection that waits for work; the process itself gets so many more. */
const CONNECTIONS = BUSY + 20

export const manyLanes: Scenario = {
  name: 'many-lanes',
  promise: 'A worker holds connections for the lanes that are busy, not for all that exist.',
  run: (run) =>
    onRig(
      run,
      {
        workers: 0,
        tenants: Array.from(
          { length: LANES },
          () => ({ wire: 'cloud-api', policy: 'at_least_once', rate: 20 }) as const,
        ),
        env: { LANEWAY_LANE_IDLE_SECONDS: '1' },
      },
      async (rig) => {
        const all = async () =>
          String(await rig.store.client('LIST'))
            .trim()
            .split('\n').length
        await Promise.all(rig.tenants.map((tenant, n) => rig.client.post(tenant, recipientsOf(n, 1), 1)))
        const ofOthers = await all()
        const connections = async () => (await all()) - ofOthers
        await rig.addWorker().start()
        await eventually(async () => (await rig.chatProduct.count()) >= LANES, 60_000)
        run.say(`${LANES} lanes have sent a message each; the worker has ${await connections()} connections`)
        await eventually(async () => (await connections()) <= CONNECTIONS - BUSY, 30_000)
        const busy = rig.tenants.slice(0, BUSY)
        const seen: number[] = []
        let posting = true
        const watching = eventually(
          async () => {
            seen.push(await connections())
            return !posting
          },
          120_000,
          200,
        )
        const each = run.full ? 200 : 50
        await Promise.all(busy.map((tenant, n) => rig.client.post(tenant, recipientsOf(LANES + n, each), 10)))
        posting = false
        await watching
        const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
        return {
          judgement,
          figures: [
            {
              what: `most Redis connections of the worker while ${BUSY} of ${LANES} lanes are busy`,
              value: Math.max(...seen),
              unit: 'connections',
              atMost: CONNECTIONS,
            },
          ],
        }
      },
    ),
}
