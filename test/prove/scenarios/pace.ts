// Three worker processes share lanes that are full: the pace is the lane's, not the worker's.
import { openLaneQueues } from '../../../src/lanes/queues.ts'
import { AFTER_STALL, departuresOf, freeSpans, noted, paceFigures, STEADY } from '../departures.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { type Figure, onRig, type Run, type Scenario } from '../scenario.ts'

const WARM_UP_MS = 1_000
/** A machine that is busy with other things may take so many times as long. */
const LONGEST = 6
/** Of the time in which the machine held up no worker; less of it than this tells nothing. */
const LEAST_UNHELD = 0.9
const LEAST_JUDGED_MS = 1_500
/** What a lane may lose of its rate over a minute. */
const LEAST = 0.985

export const pace: Scenario = {
  name: 'pace',
  promise: 'However many workers serve a lane, it keeps its pace: smooth, never above its rate, hardly below it.',
  alone: true,
  run: async (run) => {
    const rates = run.full ? [10, 80, 1_000] : [80]
    const seconds = run.full ? 60 : 8
    const tenants = rates.map((rate) => ({ wire: 'cloud-api', policy: 'at_least_once', rate }) as const)
    const env = { LANEWAY_MAX_IN_FLIGHT: '100' }
    return onRig(
      run,
      { workers: 3, tenants, env, workerEnv: () => noted(run.folder), simulator: { SIMULATOR_WEBHOOK_URL: '' } },
      async (rig) => {
        const queues = openLaneQueues(rig.store)
        // One lane after the other, and each of them full before it begins: two cores cannot show a fast lane while they
        // are busy with another one, or with what is posted to it.
        for (const [n, tenant] of rig.tenants.entries()) {
          const recipients = recipientsOf(n, tenant.rate * (seconds + 2))
          await queues.pause(tenant.lane)
          await rig.client.postBatches(tenant, recipients)
          run.say(`${recipients.length} posted to the lane of ${tenant.rate}/s`)
          const taken = await rig.chatProduct.count()
          await queues.resume(tenant.lane)
          // Not by looking all of them up again and again, which keeps the machine as busy as sending them does.
          await rig.chatProduct.hasTaken(taken + recipients.length, (seconds + 2) * LONGEST * 1_000)
        }
        await queues.close()
        const found = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
        const figures = rig.tenants.flatMap(({ rate, phoneNumberId }, n): Figure[] => {
          const mine = new Set(recipientsOf(n, rate * (seconds + 2)))
          const left = departuresOf(run.folder, phoneNumberId)
          const arrived = found.ledger.flatMap(({ to, atMs }) => (mine.has(to) ? [atMs] : [])).sort((a, b) => a - b)
          const begin = (left[0] ?? 0) + WARM_UP_MS
          const end = (left.at(-1) ?? 0) - WARM_UP_MS
          const within = left.filter((at) => at >= begin && at < end).length
          return [
            {
              what: `mean pace of the lane of ${rate}/s over ${Math.round((end - begin) / 1_000)} s`,
              value: (within / (end - begin)) * 1_000,
              unit: 'messages/s',
              ...(run.full ? { atLeast: rate * LEAST } : {}),
              atMost: rate * 1.001 + 1_000 / (end - begin),
            },
            ...unheld(run, { rate, left, begin, end }),
            // Processes that others hold up are late with what they claimed, as after a short stall.
            ...paceFigures({ rate, left, arrived }, { inASecond: run.full ? STEADY : AFTER_STALL }),
          ]
        })
        return { judgement: found.judgement, figures }
      },
    )
  },
}

/**
 * What the lane sends while the machine lets every worker run. A small run shares the machine with others, who may leave
 * it hardly anything; of the time that they do leave it, no more than a tenth may pass unused.
 */
function unheld(run: Run, lane: { rate: number; left: readonly number[]; begin: number; end: number }): Figure[] {
  const spans = freeSpans(run.folder, { fromMs: lane.begin, toMs: lane.end })
  const ms = spans.reduce((sum, { fromMs, toMs }) => sum + toMs - fromMs, 0)
  const count = lane.left.filter((at) => spans.some(({ fromMs, toMs }) => at >= fromMs && at < toMs)).length
  const what = `over the ${(ms / 1_000).toFixed(1)} s in which the machine held up no worker`
  const enough = ms >= LEAST_JUDGED_MS
  return [
    {
      what: `mean pace of the lane of ${lane.rate}/s ${what}`,
      value: ms === 0 ? 0 : (count / ms) * 1_000,
      unit: 'messages/s',
      ...(enough ? { atLeast: lane.rate * LEAST_UNHELD } : {}),
    },
  ]
}
