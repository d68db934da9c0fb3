// Producers and workers are replaced one after another under load, as Kubernetes does with deploy/kubernetes: a new one is
// there before an old one is asked to end, the load balancer hears of that a moment later, and nobody repeats a
// request. The strategy and the times are those of the manifests, which test/servers/deploy.test.ts holds against these.
import { createClient } from '../client.ts'
import type { Part } from '../part.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { onRig, type Run, type Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

/** LANEWAY_STOP_DELAY_SECONDS and terminationGracePeriodSeconds of the manifests. */
export const UPDATE_SECONDS = { stopDelay: 5, grace: 30 }
/** A process that stops is still sent requests for so long, of its delay. */
const STILL_KNOWN = 0.6
/** A small run is to be short. */
const SHORT_DELAY_SECONDS = 2

export const rollingUpdate: Scenario = {
  name: 'rolling-update',
  promise: 'A rolling update loses and doubles nothing, and refuses no request, though nobody repeats one.',
  run(run) {
    const delay = run.full ? UPDATE_SECONDS.stopDelay : SHORT_DELAY_SECONDS
    return onRig(
      run,
      {
        ...{ producers: 2, workers: run.full ? 4 : 2, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] },
        // Longer than other processes hold up WhatsApp here, shorter than what a worker waits for at its end.
        env: { LANEWAY_STOP_DELAY_SECONDS: String(delay), LANEWAY_SEND_TIMEOUT_SECONDS: '15' },
      },
      (rig) => play(run, rig, delay),
    )
  },
}

async function play(run: Run, whole: Rig, delaySeconds: number) {
  /** Who is sent requests. */
  const endpoints = new Set(whole.producers)
  const rig = { ...whole, client: createClient(() => [...endpoints].map(({ url }) => url)) }
  rig.providerLine.delayReplies(20, 120)
  const ended: { code: number | null; ms: number }[] = []
  let readyThoughStopping = 0
  const perSecond = run.full ? 200 : 60
  const posting = { on: true }
  const load = (async () => {
    for (let second = 0; posting.on; second += 1) {
      await rig.client.post(rig.tenant, recipientsOf(second, perSecond), perSecond)
    }
  })()

  async function end(part: Part): Promise<void> {
    const begunAt = performance.now()
    const code = await part.terminate()
    ended.push({ code, ms: performance.now() - begunAt })
  }

  /** maxSurge 1, maxUnavailable 0. */
  async function replaceProducer(old: Part): Promise<void> {
    const next = await rig.addProducer()
    await next.start()
    endpoints.add(next)
    const ending = end(old)
    await pause(STILL_KNOWN * delaySeconds * 1_000)
    const answer = await fetch(`${old.url}/readyz`).catch(() => undefined)
    if (answer?.status !== 503) readyThoughStopping += 1
    endpoints.delete(old)
    await ending
  }

  /** maxSurge 1, maxUnavailable 1: one ends while another one starts. */
  async function replaceWorker(old: Part): Promise<void> {
    await Promise.all([rig.addWorker().start(), end(old)])
  }

  for (let round = 0; round < (run.full ? 5 : 1); round += 1) {
    for (const old of [...endpoints]) await replaceProducer(old)
    for (const old of rig.workers.filter((part) => part.isRunning())) await replaceWorker(old)
    run.say(`${rig.client.acknowledged()} accepted, ${ended.length} processes replaced`)
  }
  posting.on = false
  await load
  const found = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
  const answers = found.posted.flatMap((posted) => posted.answers)
  const refused = answers.filter(({ status }) => status !== 200).length
  const longest = Math.max(...ended.map(({ ms }) => ms)) / 1_000
  return {
    judgement: found.judgement,
    figures: [
      { what: 'processes replaced', value: ended.length, unit: 'processes' },
      { what: 'requests refused', value: refused, unit: 'requests', atMost: 0 },
      {
        what: 'stopping producers that said they were ready',
        value: readyThoughStopping,
        unit: 'producers',
        atMost: 0,
      },
      {
        what: 'ended with another code than 0',
        value: ended.filter(({ code }) => code !== 0).length,
        unit: 'processes',
        atMost: 0,
      },
      { what: 'longest end', value: longest, unit: 's', atMost: UPDATE_SECONDS.grace },
    ],
  }
}
