// A worker, Redis, and then all workers stand still for two seconds while a lane runs at its limit, as a virtual machine
// that is moved or a disk that does not get to syncing. Nobody may make up for it.
import { openLaneQueues } from '../../../src/lanes/queues.ts'
import { AFTER_STALL, departuresOf, noted, paceFigures } from '../departures.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { type Figure, onRig, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

const STALL_MS = 2_000
const BETWEEN_MS = 3_000
/** A machine that is busy with other things may take so many times as long. */
const LONGEST = 6

export const stall: Scenario = {
  name: 'stall',
  promise: 'A worker or a Redis that stands still makes a lane send less, and never more at once afterwards.',
  alone: true,
  run: (run) => {
    const rates = run.full ? [10, 80, 1_000] : [80]
    const rounds = run.full ? 3 : 1
    const tenants = rates.map((rate) => ({ wire: 'cloud-api', policy: 'at_least_once', rate }) as const)
    const env = { LANEWAY_MAX_IN_FLIGHT: '100' }
    return onRig(
      run,
      { workers: 3, tenants, env, workerEnv: () => noted(run.folder), simulator: { SIMULATOR_WEBHOOK_URL: '' } },
      async (rig) => {
        const seconds = 2 + (rounds * 3 * (STALL_MS + BETWEEN_MS)) / 1_000
        const queues = openLaneQueues(rig.store)
        for (const [n, tenant] of rig.tenants.entries()) {
          // The lane is full before it begins, so that nothing but sending keeps the machine busy.
          const recipients = recipientsOf(n, tenant.rate * seconds)
          await queues.pause(tenant.lane)
          await rig.client.postBatches(tenant, recipients)
          const taken = await rig.chatProduct.count()
          await queues.resume(tenant.lane)
          await rig.chatProduct.hasTaken(taken + Math.min(tenant.rate, 20))
          for (let round = 0; round < rounds; round += 1) {
            for (const [who, stalled] of [
              ['a worker', rig.workers.slice(0, 1)],
              ['Redis', [rig.redis]],
              ['every worker', rig.workers],
            ] as const) {
              await pause(BETWEEN_MS)
              for (const each of stalled) each.freeze()
              run.say(`${who} stands still`)
              await pause(STALL_MS)
              for (const each of stalled) each.wake()
            }
          }
          await rig.chatProduct.hasTaken(taken + recipients.length, seconds * LONGEST * 1_000)
        }
        await queues.close()
        const found = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
        const figures = rig.tenants.flatMap(({ rate, phoneNumberId }, n): Figure[] => {
          const mine = new Set(recipientsOf(n, rate * seconds))
          const left = departuresOf(run.folder, phoneNumberId)
          const arrived = found.ledger.flatMap(({ to, atMs }) => (mine.has(to) ? [atMs] : [])).sort((a, b) => a - b)
          return paceFigures({ rate, left, arrived }, { inASecond: AFTER_STALL, why: ' that stalled' })
        })
        return { judgement: found.judgement, figures }
      },
    )
  },
}
