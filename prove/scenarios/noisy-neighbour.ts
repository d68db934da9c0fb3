// One account asks for ten times what it may, at two producers; another one sends at its own pace, first alone, then beside
// it.
import { setAccountSettings } from '../../src/accounts/store/accounts.ts'
import { acceptTimes, percentile } from '../latency.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

/** What the loud one may, and what it asks for, requests a second. */
const LIMIT = 50
const ASKED = 500
/** What the quiet one sends. */
const QUIET = 50

const TENANT = { wire: 'cloud-api', policy: 'at_least_once' } as const

export const noisyNeighbour: Scenario = {
  name: 'noisy-neighbour',
  promise: 'An account that asks for more than it may gets its share over all producers, and others notice nothing.',
  alone: true,
  run: (run) =>
    onRig(run, { producers: 2, workers: 1, tenants: [TENANT, TENANT] }, async (rig) => {
      const [loud, quiet] = rig.tenants
      if (!loud || !quiet) throw new Error('two accounts are needed')
      const account = Number(await rig.store.hget('lw:lanes', String(loud.lane)))
      await setAccountSettings(rig.store, account, { 'limit.account_rate': LIMIT })
      const seconds = run.full ? 20 : 4
      await rig.client.post(quiet, recipientsOf(0, 100), QUIET)
      await rig.client.post(quiet, recipientsOf(1, seconds * QUIET), QUIET)
      let loudSeconds = 0
      let refused = 0
      const flood = async (): Promise<void> => {
        const began = performance.now()
        const told = await rig.client.flood(loud, recipientsOf(2, seconds * ASKED), ASKED)
        refused = told.refused
        loudSeconds = (performance.now() - began) / 1_000
      }
      await Promise.all([flood(), rig.client.post(quiet, recipientsOf(3, seconds * QUIET), QUIET)])
      const of = (range: number, count: number) => {
        const mine = new Set(recipientsOf(range, count))
        return acceptTimes(rig.client.log.filter(({ to }) => mine.has(to)))
      }
      const [before, after] = [of(1, seconds * QUIET), of(3, seconds * QUIET)]
      const got = of(2, seconds * ASKED).length
      // Looking up what became of the messages is asking, too.
      await setAccountSettings(rig.store, account, { 'limit.account_rate': 0 })
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const half = { alone: percentile(before, 50), beside: percentile(after, 50) }
      return {
        judgement,
        figures: [
          {
            what: 'messages of the quiet account, of those alone',
            value: (100 * after.length) / before.length,
            unit: '%',
            atLeast: 90,
          },
          { what: 'accepting alone, half of them', value: half.alone, unit: 'ms' },
          // Both accounts and their client share two cores: what the loud one costs in refusals is in it.
          {
            what: 'accepting beside the loud one, half of them',
            value: half.beside,
            unit: 'ms',
            ...(run.full ? { atMost: 1.1 * half.alone + 1 } : {}),
          },
          { what: 'accepting alone, 95 of 100', value: percentile(before, 95), unit: 'ms' },
          { what: 'accepting beside the loud one, 95 of 100', value: percentile(after, 95), unit: 'ms' },
          {
            what: 'messages of the loud account',
            value: got,
            unit: 'messages',
            atMost: LIMIT * (loudSeconds + 1) + 1,
            atLeast: LIMIT * seconds * 0.6,
          },
          { what: 'refused to it', value: refused, unit: 'messages', atLeast: 1 },
        ],
      }
    }),
}
