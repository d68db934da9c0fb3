// A campaign whose only worker, and with it the fan-out, is killed again and again: each time the cursor in its list has
// moved, which is when its lane was fed, and in another scenario every two seconds. Every recipient gets the
// message once or is flagged, and the campaign's figures add up at every reading.
import { parseCampaignId } from '../../../src/model/campaigns/campaign-id.ts'
import { findCampaign } from '../../../src/recipients/campaigns.ts'
import { describeCampaign, isCampaignDone, judgeCampaign, startCampaign } from '../campaign.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY, type Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario, untilDone } from '../scenario.ts'
import { impatient } from './worker-kill.ts'

/** Whether it is time for the next kill. */
type Nemesis = (seen: Record<'cursor' | 'taken' | 'killedAt' | 'cursorThen' | 'takenThen', number>) => boolean

const EVERY_MS = 2_000
/** The small run is over before a worker could be killed twice, unless its lane is slow. */
const SLOW = 100
/** In normal size; of a fast lane so many are fed at once that fewer would see one kill. */
const PEOPLE = 1_000
const FAST_PEOPLE = 6_000
/** No multiple of what is fed at once, so that each kill comes at another place of that. */
const TAKEN = 37

export const campaignKills: readonly Scenario[] = [
  scenario(
    'campaign-kill',
    'A campaign whose fan-out is killed with its worker each time it has fed its lane reaches everybody once, or flags them.',
    ({ cursor, cursorThen }) => cursor > cursorThen,
  ),
  scenario(
    'campaign-kill-timed',
    'A campaign whose worker is killed every two seconds reaches everybody once, or flags them.',
    ({ killedAt }) => performance.now() - killedAt >= EVERY_MS,
    SLOW,
  ),
  scenario(
    'campaign-kill-midway',
    'A campaign whose worker is killed in the middle of what was fed reaches everybody once, or flags them.',
    ({ taken, takenThen }) => taken - takenThen >= TAKEN,
    SLOW,
  ),
]

function scenario(name: string, promise: string, nemesis: Nemesis, slow?: number): Scenario {
  return {
    name,
    promise,
    run(run) {
      const rate = run.full ? undefined : slow
      const tenant = { wire: 'cloud-api', policy: 'at_most_once', campaign: true, ...(rate && { rate }) } as const
      return onRig(run, { tenants: [tenant], env: impatient(run) }, (rig) =>
        play(rig, run, nemesis, run.full ? 100_000 : slow === undefined ? FAST_PEOPLE : PEOPLE),
      )
    },
  }
}

async function play(rig: Rig, run: Run, nemesis: Nemesis, count: number): Promise<Finding> {
  const people = recipientsOf(0, count)
  const id = await startCampaign(rig, people)
  const { kills, leaps, readings, violations } = await killUntilFed(rig, id, people.length, run, nemesis)
  await untilDone(run, violations, 'the campaign is not done in time', () => isCampaignDone(rig, id))

  const judgement = await judgeCampaign(rig, run, id, people, { flagsEarned: kills * CONCURRENCY, violations })
  return {
    judgement,
    figures: [
      { what: 'kills of worker and fan-out', value: kills, unit: '', atLeast: 3 },
      { what: 'recipients fed between two kills, most', value: Math.max(...leaps), unit: '' },
      { what: 'readings of the campaign that added up', value: readings, unit: '' },
      { what: 'sent twice', value: judgement.sentTwice.length, unit: 'messages', atMost: 0 },
    ],
    violations,
  }
}

/** Kills the worker when the nemesis says so, until the whole list was fed. */
async function killUntilFed(rig: Rig, id: string, total: number, run: Run, nemesis: Nemesis) {
  const [worker] = rig.workers
  const violations: string[] = []
  const leaps: number[] = []
  let readings = 0
  let killedAt = performance.now()
  let cursorThen = 0
  let taken = 0
  let takenThen = 0
  for (let cursor = 0; cursor < total; ) {
    cursor = await cursorOf(rig, id)
    if (nemesis({ cursor, taken, killedAt, cursorThen, takenThen })) {
      await worker?.kill9()
      killedAt = performance.now()
      cursor = await cursorOf(rig, id)
      leaps.push(cursor - cursorThen)
      cursorThen = cursor
      takenThen = taken
      await worker?.start()
      if (leaps.length % 20 === 0) run.say(`${leaps.length} kills, ${cursor} of ${total} fed`)
    }
    const { sum, shares } = await describeCampaign(rig, id)
    taken = sum - (shares.get('queued') ?? 0)
    if (sum === total) readings += 1
    else violations.push(`the figures added up to ${sum} instead of ${total}`)
  }
  return { kills: leaps.length, leaps, readings, violations }
}

async function cursorOf(rig: Rig, name: string): Promise<number> {
  const id = parseCampaignId(name)
  return (id && (await findCampaign(rig.store, id)))?.next ?? 0
}
