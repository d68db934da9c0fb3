// A campaign as its owner runs and reads it: over HTTP.
import { z } from 'zod'
import { findSender } from '../../src/accounts/senders.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import type { Sent } from './chat-product.ts'
import { type Judgement, judge } from './checker.ts'
import { getJson, postJson } from './http.ts'
import type { Rig } from './rig.ts'
import type { Run } from './scenario.ts'
import { TEMPLATE } from './tenant.ts'
import { eventually, TooSlow } from './wait.ts'

const described = z.object({
  data: z.object({
    id: z.string(),
    state: z.string(),
    reason: z.string().nullable(),
    waits: z.object({ why: z.string() }).nullable(),
    progress: z.looseObject({ total: z.number(), capped: z.number(), held: z.number() }),
  }),
})

export interface Described {
  id: string
  state: string
  /** Why it is paused. */
  reason: string | null
  /** Why nothing of it leaves although it runs. */
  waits: string | null
  /** Parts of those that failed, and of those that were sent. */
  capped: number
  held: number
  /** Recipients by the state of their message. */
  shares: Map<string, number>
  /** All of them together: must be the number of recipients. */
  sum: number
}

/** One recipient of the export. */
const lineSchema = z.object({
  recipient: z.string(),
  message_id: z.string(),
  state: z.string(),
  possible_duplicate: z.string().nullable(),
})
export type ExportedLine = z.infer<typeof lineSchema>

const authorization = (rig: Rig) => ({ authorization: `Bearer ${rig.tenant.apiKey}` })
const addressOf = (rig: Rig, path: string) => `${rig.liveProducer()}/campaigns${path}`

/** Creates (an empty path and a body) or moves a campaign; returns its id. */
export async function postCampaign(rig: Rig, path: string, body: object = {}): Promise<string> {
  const answer = await postJson(addressOf(rig, path), body, authorization(rig))
  if (answer.status !== 200 && answer.status !== 201) throw new Error(`/campaigns${path}: ${JSON.stringify(answer)}`)
  return described.parse(answer.body).data.id
}

export async function describeCampaign(rig: Rig, id: string): Promise<Described> {
  const answer = await getJson(addressOf(rig, `/${id}`), authorization(rig))
  if (answer.status !== 200) throw new Error(`/campaigns/${id}: ${JSON.stringify(answer)}`)
  const { state, reason, waits, progress } = described.parse(answer.body).data
  const shares = new Map(STATES.map((each) => [each, z.number().parse(progress[each])]))
  const { capped, held } = progress
  const sum = [...shares.values()].reduce((all, count) => all + count, 0)
  return { id, state, reason, waits: waits?.why ?? null, capped, held, shares, sum }
}

export async function exportCampaign(rig: Rig, id: string): Promise<ExportedLine[]> {
  const answer = await fetch(addressOf(rig, `/${id}/export?format=ndjson`), { headers: authorization(rig) })
  const lines = (await answer.text()).split('\n').filter((line) => line !== '')
  return lines.map((line) => lineSchema.parse(JSON.parse(line)))
}

/** A campaign to these people that has just been started; `list` is the name of a new list of contacts. */
export async function startCampaign(rig: Rig, people: readonly string[], list = 'everybody'): Promise<string> {
  const id = await readyCampaign(rig, people, { list })
  await postCampaign(rig, `/${id}/start`)
  return id
}

/** The same of one that may be started; `more` are further fields of it. */
export async function readyCampaign(
  rig: Rig,
  people: readonly string[],
  { list, sender = 'main', more = {} }: { list: string; sender?: string; more?: object },
): Promise<string> {
  const account = (await findSender(rig.store, rig.tenant.lane))?.account ?? 0
  const tag = await createTag(rig.store, account, list)
  for (let at = 0; at < people.length; at += 1_000) {
    const chunk = people.slice(at, at + 1_000).map((phone) => ({ phone, name: '', email: '' }))
    await importContacts(rig.store, account, tag.id, chunk)
  }
  const template = { name: TEMPLATE, language: { code: 'en_US' }, components: [] }
  const id = await postCampaign(rig, '', { sender, template, recipients: { tags: [tag.id] }, ...more })
  await postCampaign(rig, `/${id}/preflight`)
  const isReady = async () => (await describeCampaign(rig, id)).state === 'ready'
  // A preflight of a quarter of a million people takes a minute on a busy machine.
  if (!(await eventually(isReady, 300_000 + people.length))) throw new TooSlow('the campaign does not get ready')
  return id
}

interface CampaignCase {
  flagsEarned: number
  /** What else is found is added here. */
  violations: string[]
  /** Which lines of the ledger are about the campaign; all unless given. */
  isTheirs?: (line: Sent) => boolean
}

/** How far a campaign is, as a text that changes with it; true once it is done. */
export async function isCampaignDone(rig: Rig, id: string): Promise<string | true> {
  const { state, shares } = await describeCampaign(rig, id)
  return state === 'done' || [state, ...shares.values()].join(' ')
}

/** Waits until all is said about a campaign, and judges it by its export and the ledger. */
export async function judgeCampaign(
  rig: Rig,
  run: Pick<Run, 'quiescenceLimitMs'>,
  id: string,
  people: readonly string[],
  { flagsEarned, violations, isTheirs = () => true }: CampaignCase,
): Promise<Judgement> {
  // Updates that are still under way would change records between one reading and the next.
  await eventually(async () => (await rig.chatProduct.updatesWaiting()) === 0, run.quiescenceLimitMs, 250)
  const { shares, sum } = await describeCampaign(rig, id)
  if (sum !== people.length) violations.push(`the figures add up to ${sum} instead of ${people.length}`)
  const lines = await exportCampaign(rig, id)
  for (const [state, counted] of shares) {
    const found = lines.filter((line) => line.state === state).length
    if (found !== counted) violations.push(`${counted} are counted as ${state}, and ${found} recipients are`)
  }
  const idOf = new Map(lines.map(({ recipient, message_id }) => [recipient, message_id]))
  return judge({
    requests: people.map((to) => ({ to, ids: [idOf.get(to) ?? []].flat() })),
    // After the states: what left in between is called sent otherwise, and is missing.
    ledger: (await rig.chatProduct.ledger()).filter(isTheirs),
    states: new Map(lines.map(({ message_id, state }) => [message_id, state])),
    possibleDuplicates: new Set(lines.flatMap((line) => (line.possible_duplicate ? [line.message_id] : []))),
    refusedLater: new Set(),
    flagsEarned: flagsEarned + rig.providerLine.lostBeside(),
  })
}
