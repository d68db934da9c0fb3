// Every worker and both producers are restarted in turn, as at a deployment, while messages come in all the time.

import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

export const rollingRestarts: Scenario = {
  name: 'rolling-restarts',
  promise: 'A deployment loses, doubles and doubts no message, and no client sees a 5xx.',
  run: (run) =>
    onRig(run, { producers: 2, workers: 2, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      const { tenant } = rig
      rig.providerLine.delayReplies(20, 120)
      const turns = [...rig.producers, ...rig.workers]
      const restarts = run.full ? 20 * turns.length : turns.length
      const codes: (number | null)[] = []
      let restarting = true
      const deployment = (async () => {
        for (let n = 0; n < restarts; n += 1) {
          const part = turns[n % turns.length]
          if (!part) continue
          codes.push(await part.terminate())
          await part.start()
        }
        restarting = false
      })()
      const perSecond = run.full ? 200 : 100
      for (let second = 0; restarting; second += 1) {
        await rig.client.post(tenant, recipientsOf(second, perSecond), perSecond)
      }
      await deployment
      run.say(`${rig.client.acknowledged()} accepted, ${restarts} restarts`)
      const found = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const answers = found.posted.flatMap((posted) => posted.answers)
      const doubted = found.messages.filter(({ inside }) =>
        inside?.history.some(({ code }) => code === 'l' || code === 'h'),
      )
      return {
        judgement: found.judgement,
        figures: [
          {
            what: 'answers 5xx',
            value: answers.filter(({ status }) => status >= 500).length,
            unit: 'answers',
            atMost: 0,
          },
          { what: 'unconfirmed at any time', value: doubted.length, unit: 'messages', atMost: 0 },
          {
            what: 'processes that did not exit with 0',
            value: codes.filter((code) => code !== 0).length,
            unit: 'processes',
            atMost: 0,
          },
        ],
      }
    }),
}
