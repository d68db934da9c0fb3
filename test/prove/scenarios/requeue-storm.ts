// Everything that was sent is refused, the cause is repaired, and all of it is sent again at once, while the workers that
// do it are killed. The job must be answered at once and go on under another worker, and must not keep claims that were
// lost with a killed one waiting.
import { z } from 'zod'
import { requeueableKey } from '../../../src/redis/keys.ts'
import { getJson, postJson } from '../http.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY, type Rig } from '../rig.ts'
import { onRig, type Run, type Scenario, timeLimit } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'

const started = z.object({ data: z.object({ job_id: z.string() }) })
const job = z.object({
  data: z.object({
    state: z.string(),
    matched: z.number(),
    requeued: z.number(),
    created_at: z.string(),
    ended_at: z.string().nullable(),
  }),
})

/** Workers killed while the job runs. One that does the job costs the seconds until another takes it over. */
const KILLS = 2

export const requeueStorm: Scenario = {
  name: 'requeue-storm',
  promise:
    'What failed is sent again in bulk while workers are killed: nobody is left out, nobody gets it twice silently.',
  alone: true,
  run: (run) =>
    onRig(run, { workers: 3, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      const recipients = recipientsOf(0, run.full ? 100_000 : 2_000)
      await rig.chatProduct.control({ behaviour: 'unsupported-type' })
      await rig.client.postBatches(rig.tenant, recipients)
      await allFailed(rig, run, recipients.length)
      await rig.chatProduct.control({ clear: true })
      // So that every kill meets messages in flight.
      rig.providerLine.delayReplies(50, 150)

      const askedAt = performance.now()
      const answer = await ask(rig, { state: 'failed' })
      const answeredMs = performance.now() - askedAt
      const { job_id } = started.parse(answer).data
      const killedAt = await killWhile(rig, run, job_id, recipients.length)
      const done = await jobDone(rig, job_id, run.quiescenceLimitMs)
      rig.providerLine.delayReplies(0, 0)
      const tookMs = Date.parse(done.ended_at ?? '') - Date.parse(done.created_at)

      const flagsEarned = killedAt.length * CONCURRENCY
      const { judgement, messages } = await testimonyAtQuiescence(rig, run, { flagsEarned })
      const held = messages.flatMap(({ inside }) => inside?.history.filter(({ code }) => code === 'h') ?? [])
      const recovered = held.map(({ atMs }) => atMs - Math.max(...killedAt.filter((killed) => killed < atMs)))
      const recoveryMs = Math.max(0, ...recovered)
      const missed = recipients.length - messages.filter(({ taken }) => taken > 0).length
      return {
        judgement,
        recoveryMs,
        figures: [
          { what: 'requeue answered after', value: answeredMs, unit: 'ms', atMost: timeLimit(run, 200) },
          {
            what: `put back, with ${killedAt.length} workers killed`,
            value: (done.requeued / tookMs) * 1_000,
            unit: 'messages a second',
            ...(run.full ? { atLeast: 2_000 } : {}),
          },
          { what: 'counted as requeued', value: done.requeued, unit: 'messages', atLeast: recipients.length },
          { what: 'counted twice', value: done.requeued - recipients.length, unit: 'messages', atMost: 0 },
          { what: 'never sent again', value: missed, unit: 'messages', atMost: 0 },
          {
            what: `the last of ${held.length} lost claims recovered after`,
            value: recoveryMs,
            unit: 'ms',
            atMost: timeLimit(run, 15_000),
          },
        ],
      }
    }),
}

const bearer = (rig: Rig) => ({ authorization: `Bearer ${rig.tenant.apiKey}` })

async function ask(rig: Rig, body: object): Promise<unknown> {
  const answer = await postJson(`${rig.liveProducer()}/messages/requeue`, body, bearer(rig))
  if (!('body' in answer) || answer.status >= 300) throw new Error(`requeue was refused: ${JSON.stringify(answer)}`)
  return answer.body
}

async function allFailed(rig: Rig, run: Run, count: number): Promise<void> {
  const failed = async () => (await rig.store.zcard(requeueableKey(rig.tenant.lane))) >= count
  if (!(await eventually(failed, run.quiescenceLimitMs, 500))) throw new Error('not all messages were refused in time')
}

async function jobOf(rig: Rig, id: string) {
  const answer = await getJson(`${rig.liveProducer()}/jobs/${id}`, bearer(rig))
  if (!('body' in answer) || answer.status !== 200) throw new Error(`no job: ${JSON.stringify(answer)}`)
  return job.parse(answer.body).data
}

/** Kills one worker after the other while the job is under way, and starts each again. */
async function killWhile(rig: Rig, run: Run, id: string, count: number): Promise<number[]> {
  const killedAt: number[] = []
  const random = run.random.fork('kills')
  for (let kill = 1; kill <= KILLS; kill += 1) {
    const isThere = async () => (await jobOf(rig, id)).requeued >= (kill * count) / (2 * KILLS)
    await eventually(isThere, run.quiescenceLimitMs, run.full ? 100 : 5)
    const victim = random.pick(rig.workers.filter((worker) => worker.isReady()))
    await victim.kill9()
    killedAt.push(Date.now())
    await victim.start()
  }
  return killedAt
}

async function jobDone(rig: Rig, id: string, limitMs: number) {
  let found = await jobOf(rig, id)
  for (const end = Date.now() + limitMs; found.state !== 'done' && Date.now() < end; ) {
    await pause(50)
    found = await jobOf(rig, id)
  }
  if (found.state !== 'done') throw new Error(`the job did not end: ${JSON.stringify(found)}`)
  return found
}
