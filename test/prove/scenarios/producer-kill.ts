// One of two producers is killed again and again. The client repeats at the other one with its Idempotency-Key;
// WhatsApp repeats its webhooks.
import { killEvery, mostKills } from '../nemesis.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

export const producerKill: Scenario = {
  name: 'producer-kill',
  promise: 'A request repeated with its key at another producer is one message, and no webhook answered 200 is lost.',
  run: (run) =>
    onRig(run, { producers: 2, workers: 2, tenants: [{ wire: 'cloud-api', policy: 'at_least_once' }] }, async (rig) => {
      const { tenant } = rig
      rig.providerLine.delayReplies(20, 120)
      const random = run.random.fork('kills')
      const kills = killEvery(700, rig.producers, random, mostKills(run.full))
      await rig.client.post(tenant, recipientsOf(0, run.full ? 10_000 : 500), run.full ? 200 : 80)
      await kills.stop()
      const repeated = rig.client.log.filter(({ answers }) => answers.length > 1).length
      run.say(`${rig.client.acknowledged()} accepted, ${kills.strikes()} producers killed, ${repeated} repeated`)
      // Workers live and WhatsApp tells the truth: nothing can earn a flag.
      const found = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const behind = found.messages.filter(({ state }) => state !== 'read').length
      return {
        judgement: found.judgement,
        figures: [
          { what: 'requests repeated with their key', value: repeated, unit: 'requests' },
          { what: 'states behind what WhatsApp reported', value: behind, unit: 'messages', atMost: 0 },
        ],
      }
    }),
}
