// Where the recipients of a campaign come from, each source as a stream of candidates: contacts by tag, rows of an
// uploaded file, or those of an earlier campaign whose message is in one state.

import { cachedSender } from '../../accounts/senders.ts'
import { knownTemplate } from '../../accounts/templates.ts'
import { cellFault } from '../../files/csv-head.ts'
import type { FileStore } from '../../files/store.ts'
import type { Fault } from '../../kernel/fault.ts'
import { parseListedPhone } from '../../kernel/recipient.ts'
import { isVisible } from '../../kernel/visible.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import { parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import { type Definition, STATES_OF_CLASS } from '../../model/campaigns/definition.ts'
import { campaignMessageUlid } from '../../model/campaigns/message-ids.ts'
import type { ValueSource } from '../../model/campaigns/parameters.ts'
import { isMarketing } from '../../model/messages/content.ts'
import { type State, shownState } from '../../model/messages/lifecycle.ts'
import { type Member, readMembers } from '../../people/contacts/contacts.ts'
import { findTag } from '../../people/contacts/tags.ts'
import { namesOfPeople } from '../../people/names/names.ts'
import { cappedUntil } from '../../portfolios/caps.ts'
import { rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { type Campaign, findCampaign, idOf, isKept } from '../../recipients/campaigns.ts'
import { readRecipientStates } from '../../recipients/recipient-states.ts'
import { type Row, RowsError, readRows } from '../../recipients/rows.ts'
import { isErased, openSnapshot } from '../../recipients/snapshot.ts'
import type { Redis } from '../../redis/connect.ts'

/** Somebody who may become a recipient. `where` is their position in the source, for a person. */
export type Candidate =
  | { kind: 'found'; where: string; to: string; values: string[] }
  | {
      kind: 'refused'
      where: string
      phone: string
      reason: 'number' | 'parameter' | 'unreadable' | 'opted_out'
      explanation: string
    }
  | { kind: 'excluded' }
  /** Of an earlier campaign, and has had enough marketing for now. */
  | { kind: 'capped' }
  /** Of an earlier campaign, and was erased since: the person is unknown. */
  | { kind: 'erased' }

/** A problem of the source as a whole. */
export class SourceProblem extends Error {
  override name = 'SourceProblem'
  readonly path: string

  constructor(path: string, message: string) {
    super(message)
    this.path = path
  }
}

/** All candidates in order. `sources` names the values that each needs. */
export function candidatesOf(
  deps: { redis: Redis; files: FileStore },
  campaign: Campaign,
  sources: readonly ValueSource[],
): AsyncGenerator<Candidate> {
  const { recipients } = campaign.definition
  if ('tags' in recipients) return contacts(deps.redis, campaign.account, recipients, sources)
  if ('rows' in recipients) return rows(deps.files, campaign, recipients.rows.phone, sources)
  return earlier(deps, campaign, recipients)
}

/** Tags that the account does not have. A missing one in `except` would let people through who must get nothing. */
export async function unknownTags(redis: Redis, { account, definition }: Campaign): Promise<Fault[]> {
  const { recipients } = definition
  if (!('tags' in recipients)) return []
  const named = [
    ...recipients.tags.map((tag, i) => ({ tag, path: `recipients.tags[${i}]` })),
    ...recipients.except.map((tag, i) => ({ tag, path: `recipients.except[${i}]` })),
  ]
  const found = await Promise.all(named.map(({ tag }) => findTag(redis, account, tag)))
  return named
    .filter((_each, i) => found[i] === undefined)
    .map(({ tag, path }) => ({ path, message: `there is no tag ${tag}` }))
}

/** Members read at a time: about 1 ms of Redis. */
const MEMBERS_AT_ONCE = 1_000

async function* contacts(
  redis: Redis,
  account: number,
  { tags, except }: Extract<Definition['recipients'], { tags: unknown }>,
  sources: readonly ValueSource[],
): AsyncGenerator<Candidate> {
  const excluded = new Set(except)
  for (const tag of new Set(tags)) {
    for (let after = 0, more = true; more; ) {
      const members = await readMembers(redis, account, tag, after, MEMBERS_AT_ONCE)
      for (const member of members) {
        if (member.tags.some((each) => excluded.has(each))) yield { kind: 'excluded' }
        else yield withValues(`contact ${member.id}`, member.phone, sources, (source) => valueOfMember(member, source))
      }
      after = members.at(-1)?.membership ?? after
      more = members.length === MEMBERS_AT_ONCE
    }
  }
}

function valueOfMember(member: Member, source: ValueSource): string | null {
  if (source === 'contact.name') return member.name
  if (source === 'contact.email') return member.email
  return source === 'contact.phone' ? member.phone : null
}

async function* rows(
  files: FileStore,
  campaign: Campaign,
  phoneColumn: string,
  sources: readonly ValueSource[],
): AsyncGenerator<Candidate> {
  const needed = [phoneColumn, ...sources.map((source) => source.slice('row.'.length))]
  const rowsOfFile = readRows(files, campaign, campaign.rows_file, needed)
  for await (const row of withProblem('recipients.rows', rowsOfFile)) {
    const where = `line ${row.line}`
    if (row.kind === 'broken') {
      yield { kind: 'refused', where, phone: '', reason: 'unreadable', explanation: row.explanation }
      continue
    }
    const typed = row.cells.get(phoneColumn) ?? ''
    const phone = parseListedPhone(typed)
    if (!phone.ok) yield { kind: 'refused', where, phone: typed, reason: 'number', explanation: phone.message }
    else yield withValues(where, phone.digits, sources, (source) => row.cells.get(source.slice('row.'.length)) ?? null)
  }
}

/** The rows; a fault of the file as a whole is thrown as a SourceProblem at `path`. */
async function* withProblem(path: string, rowsOfFile: AsyncGenerator<Row>): AsyncGenerator<Row> {
  try {
    yield* rowsOfFile
  } catch (error) {
    throw error instanceof RowsError ? new SourceProblem(path, error.message) : error
  }
}

function withValues(
  where: string,
  to: string,
  sources: readonly ValueSource[],
  valueFor: (source: ValueSource) => string | null,
): Candidate {
  const values: string[] = []
  for (const source of sources) {
    const value = valueFor(source)
    if (value === null || !isVisible(value)) {
      return { kind: 'refused', where, phone: to, reason: 'parameter', explanation: `${source} is empty` }
    }
    const fault = cellFault(value)
    if (fault !== undefined) {
      return { kind: 'refused', where, phone: to, reason: 'parameter', explanation: `${source}: ${fault}` }
    }
    values.push(value)
  }
  return { kind: 'found', where, to, values }
}

const EARLIER_AT_ONCE = 500

async function* earlier(
  { redis, files }: { redis: Redis; files: FileStore },
  { account, definition: { template } }: Campaign,
  recipients: Extract<Definition['recipients'], { campaign: string }>,
): AsyncGenerator<Candidate> {
  const id = parseCampaignId(recipients.campaign)
  const before = id && (await findCampaign(redis, id))
  const notKept = new SourceProblem('recipients', `the campaign ${recipients.campaign} is not kept any more`)
  if (!before) throw notKept
  // Without a state nothing was claimed, and in a cancelled campaign nothing ever will be.
  const stateOfTheRest: State | undefined = before.state === 'cancelled' ? 'cancelled' : undefined
  const snapshot = await openSnapshot(files, before, before.snapshot)
  const sender = await cachedSender(redis, before.lane)
  const rules = sender === undefined ? { lane: before.lane } : await rulesOwnerOf(redis, sender)
  const wanted: readonly State[] = STATES_OF_CLASS[recipients.class]
  const isMarketingToo = isMarketing('campaign', (await knownTemplate(redis, account, template))?.category)
  for (let index = 0; index < before.total; ) {
    const people = await snapshot.read(index, EARLIER_AT_ONCE)
    const ulids = people.map(({ to }, i) => campaignMessageUlid(idOf(before), before.started_at ?? 0, index + i, to))
    const records = await archiveOf(redis).find({ lane: before.lane, ulids }, 'progress')
    // The campaign has the state of those whose record has expired.
    const kept = await readRecipientStates(redis, before, index, people.length)
    // Its states expire with it. If they are read after that, nobody would seem to have been sent anything.
    if (stateOfTheRest !== undefined && !(await isKept(redis, before))) throw notKept
    const to = people.map((person) => person.to)
    const names = isMarketingToo ? await namesOfPeople(redis, before.account, to) : []
    const capped = await cappedUntil(redis, rules, names)
    for (const [i, person] of people.entries()) {
      const { to, values } = person
      const record = records[i]
      if (record instanceof Error) throw record
      const state = (record && shownState(record)) ?? kept[i] ?? stateOfTheRest
      if (state === undefined || !wanted.includes(state)) continue
      if (isErased(person)) yield { kind: 'erased' }
      else if (capped[i] !== undefined) yield { kind: 'capped' }
      else yield { kind: 'found', where: `recipient ${index + i + 1} of ${recipients.campaign}`, to, values }
    }
    index += people.length
  }
}
