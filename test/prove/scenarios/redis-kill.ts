// Redis is killed every few seconds and comes back on its files, while workers are killed every second and
// WhatsApp lies: what was acknowledged must be there again, and what was claimed must not be claimed twice.
import { answers500, type Posted } from '../client.ts'
import { planFaults } from '../faults.ts'
import { killEvery, mostKills, strikeEvery } from '../nemesis.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY } from '../rig.ts'
import { onRig, type Scenario, timeLimit } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'
import { bothPolicies, impatient, policyFigures } from './worker-kill.ts'

/** The next kill waits for so long at most until something is accepted again. */
const ACCEPTS_WITHIN_MS = 60_000

export const redisKill: Scenario = {
  name: 'redis-kill',
  promise: 'A Redis that is killed again and again loses nothing that was acknowledged, and work goes on by itself.',
  run: (run) =>
    onRig(run, { workers: 3, tenants: bothPolicies('cloud-api'), env: impatient(run) }, async (rig) => {
      rig.providerLine.delayReplies(20, 120)
      const lists = rig.tenants.map((_tenant, n) => recipientsOf(n, run.full ? 5_000 : 250))
      const faults = await planFaults(rig.chatProduct, run.random.fork('faults'), lists.flat())
      const workers = run.random.fork('worker kills')
      const workerKills = killEvery(1_000, rig.workers, workers, mostKills(run.full))
      const away = run.random.fork('redis kills')
      const backAtMs: number[] = []
      let isPosted = false
      const redisKills = strikeEvery(run.full ? 5_000 : 2_500, async () => {
        await rig.redis.kill9()
        await pause(away.between(100, 1_000))
        await rig.redis.restart()
        backAtMs.push(Date.now())
        // On a machine that is late it would die again before anything was accepted, and nothing would be shown.
        const before = rig.client.acknowledged()
        await eventually(async () => isPosted || rig.client.acknowledged() > before, ACCEPTS_WITHIN_MS, 50)
      })
      await Promise.all(rig.tenants.map((tenant, n) => rig.client.post(tenant, lists[n] ?? [], run.full ? 100 : 40)))
      isPosted = true
      await Promise.all([workerKills.stop(), redisKills.stop()])
      run.say(`${rig.client.acknowledged()} accepted, Redis killed ${redisKills.strikes()} times`)
      // What is in flight when Redis dies is settled when it is back: only killed workers leave attempts in the dark.
      const flagsEarned = workerKills.strikes() * CONCURRENCY * rig.tenants.length + faults.withoutProof
      const found = await testimonyAtQuiescence(rig, run, { flagsEarned })
      const recoveryMs = Math.max(...backAtMs.map((backAt) => firstAcceptedAfter(rig.client.log, backAt) - backAt))
      const again = { what: 'accepting again after', value: recoveryMs, unit: 'ms', atMost: timeLimit(run, 3_000) }
      const figures = [again, answers500(rig.client.log), ...policyFigures(found, faults, 'cloud-api', run.full)]
      return { judgement: found.judgement, recoveryMs, figures }
    }),
}

/** Epoch ms of the first acknowledgement after a moment; the moment itself when nothing was left to be accepted. */
export function firstAcceptedAfter(log: readonly Posted[], moment: number): number {
  const later = log.flatMap(({ answers }) => answers).filter(({ status, atMs }) => status === 200 && atMs >= moment)
  return later.length === 0 ? moment : Math.min(...later.map(({ atMs }) => atMs))
}
