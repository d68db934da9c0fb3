// A campaign that goes on when the records of its first messages are gone, as after the retention: paused meanwhile, and
// without a pause but with places lost from its lane, so that the list is gone over again. The retention cannot be waited
// for, so the records are deleted; nothing but the campaign itself knows of those messages then.
import { primariesOf } from '../../../src/redis/connect.ts'
import { messageKey, placesKey } from '../../../src/redis/keys.ts'
import { describeCampaign, isCampaignDone, judgeCampaign, postCampaign, startCampaign } from '../campaign.ts'
import { recipientsOf } from '../recipients.ts'
import type { Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario, untilDone } from '../scenario.ts'
import { eventually } from '../wait.ts'

/** Slow enough that the small run is still going on when the records go. */
const SLOW = 150
/** A campaign feeds its lane a moment ahead. */
const FED_WITHIN_MS = 10_000
const SETTLED = new Set(['s', 'd', 'r', 'f', 'n'])

export const campaignsOutliveRecords: readonly Scenario[] = [
  scenario(
    'campaign-outlives-records',
    'A campaign that was paused until the records of its messages were gone goes on: nobody twice, nobody forgotten.',
    async (rig, run, id) => {
      await postCampaign(rig, `/${id}/pause`)
      const isCalm = async () => (await describeCampaign(rig, id)).shares.get('sending') === 0
      if (!(await eventually(isCalm, run.quiescenceLimitMs))) throw new Error('messages stay in flight')
      const gone = await dropRecords(rig)
      await postCampaign(rig, `/${id}/resume`)
      return gone
    },
  ),
  scenario(
    'campaign-outlives-records-unpaused',
    'A campaign that lasts longer than the records of its messages and loses places of its lane: nobody twice, nobody forgotten.',
    async (rig) => {
      // First what waits, or all of it may be sent while the records go.
      await dropPlaces(rig)
      return dropRecords(rig)
    },
  ),
]

function scenario(
  name: string,
  promise: string,
  trouble: (rig: Rig, run: Run, id: string) => Promise<number>,
): Scenario {
  return {
    name,
    promise,
    run(run) {
      const rate = run.full ? 1_000 : SLOW
      const tenant = { wire: 'cloud-api', policy: 'at_most_once', campaign: true, rate } as const
      return onRig(run, { tenants: [tenant] }, (rig) => play(rig, run, trouble))
    },
  }
}

async function play(
  rig: Rig,
  run: Run,
  trouble: (rig: Rig, run: Run, id: string) => Promise<number>,
): Promise<Finding> {
  const violations: string[] = []
  const people = recipientsOf(0, run.full ? 20_000 : 600)
  const id = await startCampaign(rig, people)
  const wentOut = async () => (await rig.chatProduct.ledger()).length
  await eventually(async () => (await wentOut()) >= people.length * 0.4, run.quiescenceLimitMs, 50)
  const gone = await trouble(rig, run, id)
  await untilDone(run, violations, 'the campaign is not done in time', () => isCampaignDone(rig, id))
  const judgement = await judgeCampaign(rig, run, id, people, { flagsEarned: 0, violations })
  return {
    judgement,
    figures: [
      { what: 'records gone while it went on', value: gone, unit: '', atLeast: people.length * 0.3 },
      { what: 'sent twice', value: judgement.sentTwice.length, unit: 'messages', atMost: 0 },
    ],
    violations,
  }
}

/** Deletes the records of all messages that are settled; returns how many those were. */
async function dropRecords(rig: Rig): Promise<number> {
  const { store, tenant } = rig
  let gone = 0
  for (const node of primariesOf(store)) {
    for await (const keys of node.scanStream({ match: messageKey(tenant.lane, '*'), count: 1_000 })) {
      for (const key of keys) {
        if (!SETTLED.has((await store.hget(key, 's')) ?? '')) continue
        gone += await store.del(key)
      }
    }
  }
  return gone
}

/** Takes the places off the lane that wait there: nothing else of the campaign does. */
async function dropPlaces({ store, tenant }: Rig): Promise<void> {
  // There may be none for a moment.
  if (!(await eventually(async () => (await store.del(placesKey(tenant.lane))) > 0, FED_WITHIN_MS, 10))) {
    throw new Error('nothing of the campaign waited on the lane')
  }
}
