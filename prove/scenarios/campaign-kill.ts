// A campaign whose only worker, and with it the fan-out, is killed each time the cursor in its list has moved. Every
// recipient gets the message once or is flagged, and the campaign's figures add up at every reading.
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

export const campaignKill: Scenario = {
  name: 'campaign-kill',
  promise: 'A campaign whose fan-out and worker are killed again and again reaches everybody once, or flags them.',
  run: (run) =>
    onRig(run, { tenants: [{ wire: 'cloud-api', policy: 'never_repeat', campaign: true }], env: IMPATIENT }, (rig) =>
      play(rig, run),
    ),
}

async function play(rig: Rig, run: Run): Promise<Finding> {
  const people = recipientsOf(0, run.full ? 100_000 : 1_000)
  const id = await startCampaign(rig, people)
  const { kills, readings, violations } = await killUntilFed(rig, id, people.length, run)
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

/** Kills the worker each time the cursor has moved, until the whole list was fed. */
async function killUntilFed(rig: Rig, id: string, total: number, run: Run) {
  const [worker] = rig.workers
  const violations: string[] = []
  let kills = 0
  let readings = 0
  for (let cursor = 0; cursor < total; ) {
    const before = cursor
    if ((await cursorOf(rig, id)) > before) {
      await worker?.kill9()
      kills += 1
      cursor = await cursorOf(rig, id)
      await worker?.start()
      if (kills % 20 === 0) run.say(`${kills} kills, ${cursor} of ${total} fed`)
    }
    const { sum } = await describeCampaign(rig, id)
    if (sum === total) readings += 1
    else violations.push(`the figures added up to ${sum} instead of ${total}`)
  }
  return { kills, readings, violations }
}

async function cursorOf(rig: Rig, name: string): Promise<number> {
  const id = parseCampaignId(name)
  return (id && (await findCampaign(rig.store, id)))?.next ?? 0
}
