// Reads all stored data of a person of an account, a part at a time: there may be a million messages.
import { listRetainedSenders } from '../accounts/senders.ts'
import { findFile } from '../gallery/files.ts'
import { filesSentBy } from '../gallery/received-media.ts'
import { findMessages } from '../messages/lookup/find-messages.ts'
import type { ListedMessage } from '../messages/lookup/message-schema.ts'
import type { Names } from '../model/people/person.ts'
import { findContactByPhone } from '../people/contacts/contacts.ts'
import { namesOf } from '../people/names/names.ts'
import { makeErasedHmacs } from '../people/opt-outs/erased.ts'
import { findOptOut } from '../people/opt-outs/opt-outs.ts'
import { findCampaign, idOf } from '../recipients/campaigns.ts'
import { campaignsWithFiles } from '../recipients/files.ts'
import { findInRows } from '../recipients/person-in-rows.ts'
import { findInSnapshot } from '../recipients/person-in-snapshot.ts'
import { readRecipientStates } from '../recipients/recipient-states.ts'
import type { ListSettings } from '../recipients/unclaimed-message.ts'
import type { Redis } from '../redis/connect.ts'
import { phoneColumn } from './erase-campaigns.ts'

/** Messages of a page, the unit of reading. */
const PAGE = 500

/** Dependencies of gathering. */
export interface GatherDeps {
  redis: Redis
  config: ListSettings
}

/** A campaign's data of the person. `values`: those filled in for them; `state`: that of their message, if there is one. */
export interface Membership {
  campaign: string
  campaign_state: string
  state: string | null
  values: string[]
  /** Rows of the uploaded file. */
  rows: number
}

/** The contact with one of these numbers, or null. */
export async function contactOf({ redis }: GatherDeps, account: number, names: Names) {
  const found = await Promise.all(names.map((name) => findContactByPhone(redis, account, name)))
  return found.find((contact) => contact !== undefined) ?? null
}

/** Messages that were sent to the person, under any name, and then those received from them, the newest first. */
async function* messagesOf(
  { redis, config }: GatherDeps,
  account: number,
  names: Names,
  nowMs: number,
): AsyncGenerator<ListedMessage[]> {
  const senders = await listRetainedSenders(redis, account)
  for (const direction of ['outbound', 'inbound'] as const) {
    const filter = { names, direction }
    let page: Awaited<ReturnType<typeof findMessages>> | undefined
    do {
      page = await findMessages(redis, { senders, filter, limit: PAGE, after: page?.next, nowMs, lists: config })
      if (page.messages.length > 0) yield page.messages
    } while (page.next !== undefined)
  }
}

/** Files of their messages in the gallery; they may be kept longer than the messages. */
async function* filesOf(redis: Redis, account: number, names: Names) {
  const seen = new Set<number>()
  for (const hmac of await makeErasedHmacs(redis, account, names)) {
    for await (const ids of filesSentBy(redis, account, hmac)) {
      // A message from somebody with two names is listed under both.
      const others = ids.filter((id) => !seen.has(id))
      for (const id of others) seen.add(id)
      const files = await Promise.all(others.map((id) => findFile(redis, account, id)))
      yield files.flatMap((file) => {
        if (file === undefined) return []
        const { id, name, mime_type, size } = file
        return [{ id: String(id), name, mime_type, size }]
      })
    }
  }
}

/** The campaigns that have the person on their list or in their file. */
async function* membershipsOf(
  { redis, config }: GatherDeps,
  account: number,
  names: Names,
): AsyncGenerator<Membership[]> {
  for (const { id } of await campaignsWithFiles(config.files)) {
    const campaign = await findCampaign(redis, id)
    if (campaign?.account !== account) continue
    let found: Awaited<ReturnType<typeof findInSnapshot>>
    let rows = 0
    for (const name of names) {
      if (campaign.snapshot !== '') found ??= await findInSnapshot(config.files, id, campaign.snapshot, name)
      if (campaign.rows_file === '') continue
      for await (const _row of findInRows(config.files, id, campaign.rows_file, phoneColumn(campaign), name)) rows += 1
    }
    if (found === undefined && rows === 0) continue
    const [state] = found ? await readRecipientStates(redis, campaign, found.place, 1) : []
    yield [
      {
        campaign: idOf(id),
        campaign_state: campaign.state,
        state: state ?? null,
        values: found?.values ?? [],
        rows,
      },
    ]
  }
}

/** The JSON document of a person's data, in pieces of up to a page of messages. */
export async function* personPieces(
  deps: GatherDeps,
  account: number,
  person: string,
  nowMs: number,
): AsyncGenerator<string> {
  const names = await namesOf(deps.redis, account, person)
  const contact = await contactOf(deps, account, names)
  const optOut = (await findOptOut(deps.redis, account, person)) ?? null
  const data = { person, names, contact, opt_out: optOut }
  yield `${JSON.stringify({ status: true, message: 'person', data }).slice(0, -2)},"messages":[`
  yield* elements(messagesOf(deps, account, names, nowMs))
  yield '],"campaigns":['
  yield* elements(membershipsOf(deps, account, names))
  yield '],"files":['
  yield* elements(filesOf(deps.redis, account, names))
  yield ']}}'
}

/** The JSON of an array without its brackets. */
async function* elements(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string> {
  let before = ''
  for await (const page of pages) {
    if (page.length === 0) continue
    yield before + JSON.stringify(page).slice(1, -1)
    before = ','
  }
}
