// One account asks for ten times what it may, at two producers; another one sends at its own pace: alone, beside it, and
// beside one that asks for just what it may, whose messages cost what messages cost.
import { setAccountSettings } from '../../../src/accounts/accounts.ts'
import { acceptTimes, percentile } from '../latency.ts'
import { testimonyAtQuiescence } from '../quiescence.ts'
import { recipientsOf } from '../recipients.ts'
import { onRig, type Scenario } from '../scenario.ts'

/** What the loud one may, and what it asks for, requests a second. */
const LIMIT = 50
const ASKED = 500
/** What the quiet one sends. */
const QUIET = 50
/** How often the quiet one sends alone, then beside a neighbour that keeps to its limit, then beside the loud one. */
const ROUNDS = 2

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
      let range = 0
      const quietly = async (): Promise<readonly string[]> => {
        const recipients = recipientsOf(range++, seconds * QUIET)
        await rig.client.post(quiet, recipients, QUIET)
        return recipients
      }
      const besideIt = async (
        perSecond: number,
      ): Promise<{ recipients: readonly string[]; refused: number; seconds: number }> => {
        const recipients = recipientsOf(range++, seconds * perSecond)
        const began = performance.now()
        const { refused } = await rig.client.flood(loud, recipients, perSecond)
        return { recipients, refused, seconds: (performance.now() - began) / 1_000 }
      }
      // Code that has not run yet costs ten times as much: neither of the two may pay for it.
      await Promise.all([besideIt(ASKED), quietly()])
      const alone: string[] = []
      const besideFair: string[] = []
      const beside: string[] = []
      const loudRounds: Awaited<ReturnType<typeof besideIt>>[] = []
      // In turn, because the machine is not the same all the time.
      for (let round = 0; round < ROUNDS; round += 1) {
        alone.push(...(await quietly()))
        besideFair.push(...(await Promise.all([quietly(), besideIt(LIMIT)]))[0])
        const [loudOnes, quietOnes] = await Promise.all([besideIt(ASKED), quietly()])
        loudRounds.push(loudOnes)
        beside.push(...quietOnes)
      }
      const of = (recipients: readonly string[]) => {
        const mine = new Set(recipients)
        return acceptTimes(rig.client.log.filter(({ to }) => mine.has(to)))
      }
      const [before, fair, after] = [of(alone), of(besideFair), of(beside)]
      const got = of(loudRounds.flatMap(({ recipients }) => recipients)).length
      const loudSeconds = loudRounds.reduce((sum, round) => sum + round.seconds, 0)
      const refused = loudRounds.reduce((sum, round) => sum + round.refused, 0)
      // Looking up what became of the messages is asking, too.
      await setAccountSettings(rig.store, account, { 'limit.account_rate': 0 })
      const { judgement } = await testimonyAtQuiescence(rig, run, { flagsEarned: 0 })
      const half = { alone: percentile(before, 50), fair: percentile(fair, 50), beside: percentile(after, 50) }
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
          { what: 'accepting beside one that keeps to its limit, half of them', value: half.fair, unit: 'ms' },
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
            // Each round begins with a full bucket.
            atMost: LIMIT * (loudSeconds + ROUNDS) + ROUNDS,
            atLeast: LIMIT * seconds * ROUNDS * 0.6,
          },
          { what: 'refused to it', value: refused, unit: 'messages', atLeast: 1 },
        ],
      }
    }),
}
