// Ten thousand connections that trickle headers and bodies, hold half a request, say nothing, or do not read what they
// asked for, and come again when they are cut. Meanwhile a customer goes on sending, on new connections too.
import { setTimeout as pause } from 'node:timers/promises'
import { startCrowd } from '../hostile/crowd.ts'
import { watchProcess } from '../hostile/watch.ts'
import { acceptTimes, percentile } from '../latency.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'

/** Of accepting a message while they are there. */
const P99_MS = 100

export const slowCrowd: Scenario = {
  name: 'slow-crowd',
  promise: 'Connections that hold and trickle keep nobody waiting: those who send in earnest are answered in time.',
  alone: true,
  run: (run) =>
    onRig(run, { producers: 1, workers: 1, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      const { tenant } = rig
      const [producer] = rig.producers
      if (!producer) throw new Error('no producer')
      const size = run.full ? 10_000 : 1_000
      const seconds = run.full ? 60 : 10
      const perSecond = 50
      await rig.client.post(tenant, recipientsOf(0, 100), perSecond)
      const watch = watchProcess(producer.url, producer.pid())
      const before = rig.client.log.length
      const crowd = startCrowd(producer.url, size, 2)
      // Until all have come: 1,000 a second and process.
      await pause((size / 2_000) * 1_000 + 2_000)
      await rig.client.post(tenant, recipientsOf(1, seconds * perSecond), perSecond)
      const counts = await crowd.counts()
      run.say(`${counts.made} connections were made, ${counts.cut} cut, ${counts.open} stand`)
      const seen = await watch.look()
      watch.stop()
      await crowd.stop()
      const posted = rig.client.log.slice(before)
      const times = acceptTimes(posted)
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      return {
        judgement,
        figures: [
          { what: 'connections that were made', value: counts.made, unit: 'connections', atLeast: size },
          { what: 'accepting, half of them', value: percentile(times, 50), unit: 'ms' },
          { what: 'accepting, 99 of 100', value: percentile(times, 99), unit: 'ms', atMost: timeLimit(run, P99_MS) },
          { what: 'messages accepted at the first try', value: firstTries(posted), unit: '%', atLeast: 100 },
          { what: 'most memory of the producer', value: seen.mostMb, unit: 'MB', atMost: 400 },
        ],
      }
    }),
}

const firstTries = (posted: readonly { answers: readonly { status: number }[] }[]): number =>
  (100 * posted.filter(({ answers }) => answers[0]?.status === 200).length) / Math.max(1, posted.length)
