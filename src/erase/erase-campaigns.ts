// Erases a person from the campaigns of an account: from uploaded files and frozen lists. If an active campaign has not sent them a message
// yet, the message is first settled as cancelled, so that the figures add up and the campaign can end; a line is overwritten only when
// nothing will be sent to it any more.

import type { Log } from '../kernel/log.ts'
import { finalizeUnsent } from '../lanes/messages/finalize-unsent.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { hasEnded } from '../model/campaigns/lifecycle.ts'
import { type Campaign, findCampaign, idOf } from '../recipients/campaigns.ts'
import { type CampaignFiles, campaignsWithFiles } from '../recipients/files.ts'
import { eraseInRows } from '../recipients/person-in-rows.ts'
import {
  eraseAmongRefused,
  eraseInSnapshot,
  type FoundRecipient,
  findInSnapshot,
} from '../recipients/person-in-snapshot.ts'
import { buildMessage, messageSpecOf } from '../recipients/recipient-message.ts'
import { isUnsettled, readRecipientStates } from '../recipients/recipient-states.ts'
import { CorruptRecordError } from '../redis/records.ts'
import { type EraseDeps, eraseMessage } from './erase-messages.ts'

/** What was erased in files, and how many campaigns must be checked again. */
export interface ErasedInFiles {
  recipients: number
  messages: number
  busy: number
}

/** Erases the person from the files of every campaign of these lanes, also from leftovers of crashes. */
export async function eraseInCampaigns(
  deps: EraseDeps & { log: Log },
  lanes: ReadonlySet<number>,
  person: string,
): Promise<ErasedInFiles> {
  const done: ErasedInFiles = { recipients: 0, messages: 0, busy: 0 }
  for (const each of await campaignsWithFiles(deps.files)) {
    if (!lanes.has(each.id.lane)) continue
    const one = await eraseInCampaign(deps, each, person)
    done.recipients += one.recipients
    done.messages += one.messages
    done.busy += one.busy
  }
  return done
}

async function eraseInCampaign(
  deps: EraseDeps & { log: Log },
  { id, written }: CampaignFiles,
  person: string,
): Promise<ErasedInFiles> {
  const { files } = deps
  const campaign = await campaignOrNone(deps, id)
  const column = phoneColumn(campaign)
  const done: ErasedInFiles = { recipients: 0, messages: 0, busy: 0 }
  for (const name of written.keys()) {
    if (name.startsWith('rows-')) {
      done.recipients += await eraseInRows(files, id, name, column, person)
    } else if (name.startsWith('recipients-')) {
      const found = await findInSnapshot(files, id, name, person)
      const message = found && (await settle(deps, campaign, name, found, person))
      const mayGo = message !== 'busy'
      if (message === 'erased') done.messages += 1
      if (found !== undefined && mayGo) await eraseInSnapshot(files, id, name, person, found)
      if (mayGo) done.recipients += (found ? 1 : 0) + (await eraseAmongRefused(files, id, name, person))
      else done.busy += 1
    }
  }
  // A preflight in progress may have read the person already: its list is searched once it exists.
  if (campaign?.state === 'checking') done.busy += 1
  return done
}

/** An unreadable campaign sends nothing; its files are erased all the same. */
async function campaignOrNone({ redis, log }: EraseDeps & { log: Log }, id: CampaignId): Promise<Campaign | undefined> {
  try {
    return await findCampaign(redis, id)
  } catch (error) {
    if (!(error instanceof CorruptRecordError)) throw error
    log.warn({ campaign: idOf(id), err: error }, 'erasure.campaign_unreadable')
    return undefined
  }
}

/** The column with the numbers in the rows of a campaign; undefined where the campaign is not kept any more, or has no rows. */
export function phoneColumn(campaign: Campaign | undefined): string | undefined {
  const recipients = campaign?.definition.recipients
  return recipients && 'rows' in recipients ? recipients.rows.phone : undefined
}

/** Stops the message to a recipient of a list, and erases it; `busy` while it is being sent. */
async function settle(
  deps: EraseDeps,
  campaign: Campaign | undefined,
  snapshot: string,
  { place, values }: FoundRecipient,
  person: string,
): Promise<Awaited<ReturnType<typeof eraseMessage>>> {
  if (campaign?.started_at === undefined || campaign.snapshot !== snapshot) return 'other'
  const { redis, config } = deps
  const spec = messageSpecOf(campaign, config.validityMs.campaign)
  const { ulid, payload } = buildMessage(spec, { to: person, values }, place)
  const id = { lane: campaign.lane, ulid }
  const [state] = await readRecipientStates(redis, campaign, place, 1)
  if (state === undefined) {
    // A cancelled campaign sends nothing more, and has nothing to settle.
    if (hasEnded(campaign.state)) return 'other'
    await finalizeUnsent(redis, id, 'erased', payload, config.retentionMs)
  } else if (isUnsettled(state)) {
    // Otherwise a message that may be in flight would have no record.
    await finalizeUnsent(redis, id, 'gone', payload, config.retentionMs)
  }
  return eraseMessage(deps, id, person)
}
