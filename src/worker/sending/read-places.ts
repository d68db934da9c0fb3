// Makes the messages of places that are next on a lane, each from its line in the list of its campaign. Reading changes nothing: a
// process that dies here leaves the places as they were.
import { isFilesAway } from '../../files/store.ts'
import { messageId } from '../../kernel/message-id.ts'
import type { Next } from '../../lanes/jobs.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { dropPlaces } from '../../lanes/places.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { idOf, moveCampaign } from '../../recipients/campaigns.ts'
import { type OpenCampaign, UnreadableListError } from '../../recipients/open-campaigns.ts'
import { logOwnPause } from '../../recipients/own-pauses.ts'
import { payloadOf, ulidOf } from '../../recipients/recipient-message.ts'
import type { Recipient } from '../../recipients/snapshot.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { SendDeps } from './attempt.ts'
import { Candidate } from './candidate.ts'
import { deadLetterJob, MOST_DEATHS, reasonOfDeaths } from './read-jobs.ts'

/**
 * How long a step waits for a list, as from a bucket: a pause of the lane since the read would not be noticed, and after seconds other
 * workers would take this one to have died over what it has read. The list is read on, and a later step finds it in memory.
 */
const LIST_MS = 250
/** Until that step. */
const LATER_MS = 50
/** A campaign whose list cannot be reached is left out for this long. */
const AWAY_MS = 1_000

type ReadDeps = Pick<SendDeps, 'redis' | 'config' | 'log' | 'lanes' | 'campaigns'>

/** Campaigns of a lane that this worker leaves out, and until when (`performance.now()`). Others of the lane go on. */
export type HeldCampaigns = Map<number, number>

/** The messages of these places, in their order. A campaign whose list cannot be read is paused, or left out for a while. */
export async function readPlaces(
  deps: ReadDeps,
  lane: number,
  { places, deaths, epochs }: Pick<Next, 'places' | 'deaths' | 'epochs'>,
  held: HeldCampaigns,
): Promise<Candidate[]> {
  if (places.length === 0) return []
  const ofRun = new Map<number, number[]>()
  for (const { run, place } of places) {
    const some = ofRun.get(run)
    if (some) some.push(place)
    else ofRun.set(run, [place])
  }
  const made = new Map<number, Candidate[]>()
  await Promise.all(
    Array.from(ofRun, async ([run, some]) => {
      made.set(
        run,
        await readOrLeaveOut(deps, { lane, number: run }, { epoch: epochs.get(run) ?? 0, places: some }, held),
      )
    }),
  )
  // Those of a campaign are in the order of its places.
  const messages = places.flatMap(({ run }) => made.get(run)?.shift() ?? [])
  const [first] = messages
  if (first === undefined || deaths < MOST_DEATHS) return messages
  await deadLetterPlace(deps, lane, first, deaths)
  return messages.slice(1)
}

/** Places of one campaign to read. */
interface Wanted {
  epoch: number
  places: readonly number[]
}

async function readOrLeaveOut(
  deps: ReadDeps,
  id: CampaignId,
  wanted: Wanted,
  held: HeldCampaigns,
): Promise<Candidate[]> {
  const { redis, config, log } = deps
  try {
    const begunAt = performance.now()
    const found = await inTime(messagesOf(deps, id, wanted))
    const now = performance.now()
    if (found !== undefined && now - begunAt <= LIST_MS) return found
    held.set(id.number, now + LATER_MS)
  } catch (error) {
    if (isRedisAway(error)) throw error
    if (isFilesAway(error)) {
      log.warn({ campaign: idOf(id), err: error }, 'campaign.put_off')
      held.set(id.number, performance.now() + AWAY_MS)
    } else if (error instanceof CorruptRecordError) {
      // The fan-out says so, and stops it.
      await dropPlaces(redis, id)
    } else {
      const isUnreadable = error instanceof UnreadableListError
      log.error({ campaign: idOf(id), err: error }, isUnreadable ? 'campaign.unreadable' : 'campaign.broken')
      const reason = isUnreadable
        ? 'The list of recipients cannot be read on the server.'
        : 'The campaign stopped because of an internal error; see the worker log.'
      const moved = await moveCampaign(redis, id, 'pause', config.retentionMs, { fields: { reason } })
      if (moved.kind === 'moved') await logOwnPause(redis, id, reason)
      else await dropPlaces(redis, id)
    }
  }
  return []
}

/** Undefined when it takes too long. */
async function inTime<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, LIST_MS, undefined)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

/** The messages of one campaign, in the order of these places. */
async function messagesOf(deps: ReadDeps, id: CampaignId, { epoch, places }: Wanted): Promise<Candidate[]> {
  const campaign = await deps.campaigns.open(id, epoch)
  const messages: Candidate[] = []
  if (campaign === undefined) {
    // Its record is gone: a campaign that ceases to run takes its places along.
    await dropPlaces(deps.redis, id)
    return messages
  }
  for (let at = 0; at < places.length; ) {
    const from = places[at] ?? 0
    let count = 1
    while (places[at + count] === from + count) count += 1
    const recipients = await campaign.snapshot.readAll(from, count)
    if (recipients.length < count) throw new Error(`${idOf(id)} has no recipient at place ${from + recipients.length}`)
    for (const recipient of recipients) {
      messages.push(messageOf(campaign, recipient, places[at] ?? from))
      at += 1
    }
  }
  return messages
}

function messageOf({ spec, createdAtMs }: OpenCampaign, recipient: Recipient, place: number): Candidate {
  const { to, values } = recipient
  const { lane, number: run } = spec.id
  const ulid = ulidOf(spec, recipient, place)
  return new Candidate({
    id: { lane, ulid },
    name: messageId(lane, ulid),
    message: {
      to,
      type: spec.withPlaceholders.type,
      text: '',
      class: 'campaign',
      validUntil: spec.until,
      campaign: undefined,
      run,
      filled: values,
      again: spec.again,
    },
    content: spec.withPlaceholders,
    values,
    route: spec.route,
    waitsAs: 'place',
    erasedSinceMs: createdAtMs,
    // Built only for the few that need a job of their own.
    payload: () => payloadOf(spec, recipient),
  })
}

/**
 * A message that kills whoever reads it is kept for people, as a dead letter, and ends failed. Dying in between leaves a dead letter, or
 * a job that kills its readers in turn.
 */
async function deadLetterPlace(deps: ReadDeps, lane: number, message: Candidate, deaths: number): Promise<void> {
  const { id, name, payload } = message
  await deps.lanes.add(name, payload())
  await deadLetterJob(deps, lane, name, reasonOfDeaths(deaths))
  await finalizeUnsent(deps.redis, id, 'dead', payload(), deps.config.retentionMs)
}
