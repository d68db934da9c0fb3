// Exports the outcome of every recipient of a campaign as a stream: the frozen list joined with the messages' records.

import { csvLine } from '../../files/csv.ts'
import type { FileStore } from '../../files/store.ts'
import { iso } from '../../kernel/instant.ts'
import { messageId } from '../../kernel/message-id.ts'
import { archiveOf, type KeptMessage } from '../../lanes/archive/archive.ts'
import type { ExportFormat } from '../../model/campaigns/file-formats.ts'
import { campaignMessageUlid } from '../../model/campaigns/message-ids.ts'
import { HISTORY, type HistoryEvent } from '../../model/messages/history.ts'
import { type State, shownState } from '../../model/messages/lifecycle.ts'
import { type Campaign, idOf } from '../../recipients/campaigns.ts'
import { readRecipientStates } from '../../recipients/recipient-states.ts'
import { isErased, openSnapshot, type Recipient } from '../../recipients/snapshot.ts'
import type { Redis } from '../../redis/connect.ts'
import { readReplied } from '../store/replies.ts'

/** Read at a time: some 3 ms of Redis. */
const AT_ONCE = 500

/** The file of the export in pieces, in the order of the recipients; the header alone before preflight. */
export async function* exportCampaign(
  deps: { redis: Redis; files: FileStore },
  campaign: Campaign,
  format: ExportFormat,
): AsyncGenerator<string> {
  if (format === 'csv') yield csvLine(COLUMNS)
  if (campaign.snapshot === '' || campaign.total === 0) return
  const snapshot = await openSnapshot(deps.files, campaign, campaign.snapshot)
  for (let index = 0; index < campaign.total; ) {
    const people = await snapshot.read(index, AT_ONCE)
    if (people.length === 0) return
    const first = index
    const ulids = people.map(({ to }, i) =>
      campaignMessageUlid(idOf(campaign), campaign.started_at ?? 0, first + i, to),
    )
    const records = campaign.started_at === undefined ? [] : await recordsOf(deps.redis, campaign.lane, ulids)
    const states = await readRecipientStates(deps.redis, campaign, first, people.length)
    const replied = await readReplied(deps.redis, campaign, first, people.length)
    const lines = people.map((person, i) => ({
      ...lineOfPerson(campaign, person, ulids[i] ?? '', records[i], states[i]),
      replied: replied[i] ? 'yes' : null,
    }))
    yield lines
      .map((line) =>
        format === 'csv' ? csvLine(Object.values(line).map((cell) => String(cell ?? ''))) : `${JSON.stringify(line)}\n`,
      )
      .join('')
    index += people.length
  }
}

async function recordsOf(redis: Redis, lane: number, ulids: readonly string[]): Promise<(KeptMessage | undefined)[]> {
  return (await archiveOf(redis).find({ lane, ulids })).map((record) => {
    if (record instanceof Error) throw record
    return record
  })
}

const COLUMNS = [
  'recipient',
  'message_id',
  'state',
  'claimed_at',
  'sent_at',
  'delivered_at',
  'read_at',
  'ended_at',
  'possible_duplicate',
  'error_code',
  'error',
  'delivered',
  'pricing_category',
  'pricing_type',
  'billable',
  'replied',
]

/** An erased person, whose number and message are unknown. */
function lineOfPerson(
  campaign: Campaign,
  person: Recipient,
  ...known: Parameters<typeof lineOf> extends [unknown, unknown, ...infer K] ? K : never
) {
  const line = lineOf(campaign, person.to, ...known)
  return isErased(person) ? { ...line, recipient: '', message_id: null } : line
}

/**
 * In the order of COLUMNS, without the last. The campaign still has the state of a recipient whose record has expired; a recipient
 * without either was not claimed yet, or never will be.
 */
function lineOf(
  campaign: Campaign,
  to: string,
  ulid: string,
  record: KeptMessage | undefined,
  state: State | undefined,
) {
  const at = (code: HistoryEvent['code']): string | null => {
    const event = record?.history.findLast((each) => each.code === code)
    return event === undefined ? null : iso(event.atMs)
  }
  const untouched: State = campaign.state === 'cancelled' ? 'cancelled' : 'queued'
  const shown = (record && shownState(record)) ?? state ?? untouched
  return {
    recipient: to,
    message_id: campaign.started_at === undefined ? null : messageId(campaign.lane, ulid),
    state: shown,
    claimed_at: at(HISTORY.claimed),
    sent_at: at(HISTORY.sent),
    delivered_at: at(HISTORY.delivered),
    read_at: at(HISTORY.read),
    ended_at: at(HISTORY.failed) ?? at(HISTORY.expired) ?? at(HISTORY.cancelled) ?? at(HISTORY.unknown),
    possible_duplicate: record !== undefined && record.repeats > 0 ? 'yes' : null,
    error_code: record?.problem?.code ?? null,
    error: record?.problem?.sentence ?? null,
    // A read message was delivered, even if no delivery was reported.
    delivered: shown === 'delivered' || shown === 'read' ? 'yes' : null,
    pricing_category: record?.pricing?.category ?? null,
    pricing_type: record?.pricing?.type ?? null,
    billable: record?.pricing?.billable ?? null,
  }
}
