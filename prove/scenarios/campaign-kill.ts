// A campaign whose only worker, and with it the fan-out, is killed again and again: each time the cursor in its list has
// moved, which is at the boundary of a chunk, and in another scenario every two seconds. Every recipient gets the
// message once or is flagged, and the campaign's figures add up at every reading.
import { parseCampaignId } from '../../src/messages/campaign-id.ts'
import { findCampaign } from '../../src/store/campaigns.ts'
import { createTag } from '../../src/store/contact-tags.ts'
import { importContacts } from '../../src/store/contacts.ts'
import { findSender } from '../../src/store/senders.ts'
import { describeCampaign, exportCampaign, steerCampaign } from '../campaign.ts'
import { judge } from '../checker.ts'
import { recipientsOf } from '../recipients.ts'
import { CONCURRENCY, type Rig } from '../rig.ts'
import { type Finding, onRig, type Run, type Scenario } from '../scenario.ts'
import { TEMPLATE } from '../tenant.ts'
import { eventually } from '../wait.ts'

const IMPATIENT = { LANEWAY_SEND_TIMEOUT_SECONDS: '1' }

/** Whether it is time for the next kill. */
type Nemesis = (seen: { cursor: number; killedAt: number; cursorThen: number }) => boolean

const EVERY_MS = 2_000
/** The small run is over before a worker could be killed twice, unless its lane is slow. */
const SLOW = 100

export const campaignKills: readonly Scenario[] = [
  scenario(
    'campaign-kill',
    'A campaign whose fan-out is killed with its worker at each chunk boundary reaches everybody once, or flags them.',
    ({ cursor, cursorThen }) => cursor > cursorThen,
  ),
  scenario(
    'campaign-kill-timed',
    'A campaign whose worker is killed every two seconds reaches everybody once, or flags them.',
    ({ killedAt }) => performance.now() - killedAt >= EVERY_MS,
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
      return onRig(run, { tenants: [tenant], env: IMPATIENT }, (rig) => play(rig, run, nemesis))
    },
  }
}

async function play(rig: Rig, run: Run, nemesis: Nemesis): Promise<Finding> {
  const people = recipientsOf(0, run.full ? 100_000 : 1_000)
  const id = await startCampaign(rig, people)
  const { kills, leaps, readings, violations } = await killUntilFed(rig, id, people.length, run, nemesis)
  const isDone = async () => (await describeCampaign(rig, id)).state === 'done'
  if (!(await eventually(isDone, run.restLimitMs, 250))) violations.push('the campaign is not done in time')

  // Updates that are still under way would change records between one reading and the next.
  await eventually(async () => (await rig.chatProduct.updatesWaiting()) === 0, run.restLimitMs, 250)
  const { shares } = await describeCampaign(rig, id)
  const lines = await exportCampaign(rig, id)
  for (const [state, counted] of shares) {
    const found = lines.filter((line) => line.state === state).length
    if (found !== counted) violations.push(`${counted} are counted as ${state}, and ${found} recipients are`)
  }
  const idOf = new Map(lines.map(({ recipient, message_id }) => [recipient, message_id]))
  const judgement = judge({
    requests: people.map((to) => ({ to, ids: [idOf.get(to) ?? []].flat() })),
    ledger: await rig.chatProduct.ledger(),
    states: new Map(lines.map(({ message_id, state }) => [message_id, state])),
    possibleDuplicates: new Set(lines.flatMap((line) => (line.possible_duplicate ? [line.message_id] : []))),
    refusedLater: new Set(),
    flagsEarned: kills * CONCURRENCY,
  })
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

/** A campaign to these people that has just been started. */
async function startCampaign(rig: Rig, people: readonly string[]): Promise<string> {
  const account = (await findSender(rig.store, rig.tenant.lane))?.account ?? 0
  const tag = await createTag(rig.store, account, 'everybody')
  for (let at = 0; at < people.length; at += 1_000) {
    const chunk = people.slice(at, at + 1_000).map((phone) => ({ phone, name: '', email: '' }))
    await importContacts(rig.store, account, tag.id, chunk)
  }
  const template = { name: TEMPLATE, language: { code: 'en_US' }, components: [] }
  const id = await steerCampaign(rig, '', { sender: 'main', template, recipients: { tags: [tag.id] } })
  await steerCampaign(rig, `/${id}/preflight`)
  const isReady = async () => (await describeCampaign(rig, id)).state === 'ready'
  if (!(await eventually(isReady, 60_000))) throw new Error('the campaign does not get ready')
  await steerCampaign(rig, `/${id}/start`)
  return id
}

/** Kills the worker when the nemesis says so, until the whole list was fed. */
async function killUntilFed(rig: Rig, id: string, total: number, run: Run, nemesis: Nemesis) {
  const [worker] = rig.workers
  const violations: string[] = []
  const leaps: number[] = []
  let readings = 0
  let killedAt = performance.now()
  let cursorThen = 0
  for (let cursor = 0; cursor < total; ) {
    cursor = await cursorOf(rig, id)
    if (nemesis({ cursor, killedAt, cursorThen })) {
      await worker?.kill9()
      killedAt = performance.now()
      cursor = await cursorOf(rig, id)
      leaps.push(cursor - cursorThen)
      cursorThen = cursor
      await worker?.start()
      if (leaps.length % 20 === 0) run.say(`${leaps.length} kills, ${cursor} of ${total} fed`)
    }
    const { sum } = await describeCampaign(rig, id)
    if (sum === total) readings += 1
    else violations.push(`the figures added up to ${sum} instead of ${total}`)
  }
  return { kills: leaps.length, leaps, readings, violations }
}

async function cursorOf(rig: Rig, name: string): Promise<number> {
  const id = parseCampaignId(name)
  return (id && (await findCampaign(rig.store, id)))?.next ?? 0
}
