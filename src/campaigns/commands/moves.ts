// The moves of a campaign: start, pause, resume, cancel and the like, for the routes, the command line and the client. Each move is one
// step in Redis (campaign-move.lua), which also takes a campaign that does not run any more off its lane. Its job is added after it; if
// the process dies in between, the workers' watch adds the job.

import { invalidFields, Refusal } from '../../kernel/refusal.ts'
import { cancelStep } from '../../lanes/cancel-message.ts'
import { rescheduleSweep } from '../../lanes/sweep-lists.ts'
import { markLane } from '../../lanes/wake.ts'
import type { AccountLimits } from '../../model/accounts/limits.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import {
  CAMPAIGN_MOVES,
  type CampaignMove,
  type CampaignState,
  hasEnded,
  TEMPLATE_PAUSED,
} from '../../model/campaigns/lifecycle.ts'
import { WIDEST_WINDOW } from '../../model/campaigns/pace.ts'
import { type Campaign, findCampaign, type MoveOptions, moveCampaign, NOW } from '../../recipients/campaigns.ts'
import { queuedMessagesOf } from '../../recipients/recipient-states.ts'
import type { Redis } from '../../redis/connect.ts'
import type { CampaignQueue } from '../store/queue.ts'
import { changedTemplate, templateProblem } from './template-problem.ts'

/** Dependencies of a move without a job. */
export interface MoveDeps {
  redis: Redis
  /** How long an ended campaign is kept: as long as its messages. */
  retentionMs: number
}

/** Dependencies of the commands on campaigns. */
export interface LifecycleDeps extends MoveDeps {
  queue: CampaignQueue
  /** Default limits of accounts; without them there is no limit. */
  limits?: AccountLimits | undefined
}

/**
 * A resumed campaign goes back so far in its list. The pause dropped at most one window from the lane; recipients whose message was
 * claimed are skipped, so going back too far costs only a read.
 */
const REWIND = 2 * WIDEST_WINDOW

/** Reads and freezes the recipients in the background; the result is in the campaign's `preflight`. */
export async function checkCampaign(deps: LifecycleDeps, campaign: Campaign): Promise<void> {
  if ('rows' in campaign.definition.recipients && campaign.rows_file === '') {
    throw new Refusal('invalid', 'no_rows', 'Upload the rows before the preflight.')
  }
  const epoch = await move(deps, campaign, 'check', { begins: true, fields: { preflight_starts: 0 } })
  if (epoch !== undefined) await deps.queue.add('preflight', campaign, epoch)
}

/** Schedules the start. The campaign must be ready; the time can be changed until then. */
export async function scheduleCampaign(deps: LifecycleDeps, campaign: Campaign, atMs: number): Promise<void> {
  const { valid_until } = campaign.definition
  if (atMs <= Date.now()) throw invalidFields([{ path: 'at', message: 'must be in the future' }])
  if (valid_until !== undefined && atMs >= Date.parse(valid_until)) {
    throw invalidFields([{ path: 'at', message: `must be before ${valid_until}, until which it is valid` }])
  }
  await move(deps, campaign, 'schedule', { fields: { scheduled_at: atMs } })
}

/**
 * Starts a campaign that is ready or scheduled. Throws a Refusal: `template_not_approved` or `template_changed`, or
 * `wrong_state` in another state; one that runs or is done already stays as it is. With `dueAt` (epoch ms) it starts only while it is
 * scheduled for then: a person may choose another time meanwhile.
 */
export async function startCampaign(deps: LifecycleDeps, campaign: Campaign, dueAt?: number): Promise<void> {
  await requireTemplate(deps, campaign, 'start')
  const fields = { started_at: NOW, resumed_at: NOW }
  const epoch = await move(deps, campaign, 'start', { begins: true, dueAt, fields })
  await pauseIfStopped(deps, campaign)
  if (epoch !== undefined) await deps.queue.add('fan-out', campaign, epoch)
}

/** From now on nothing is claimed; messages in flight still end. */
export async function pauseCampaign(deps: MoveDeps, campaign: CampaignId, reason: string): Promise<void> {
  await move(deps, campaign, 'pause', { fields: { reason } })
}

/** Resumes where it was. */
export async function resumeCampaign(deps: LifecycleDeps, campaign: Campaign): Promise<void> {
  await requireTemplate(deps, campaign, 'resume')
  const fields = { resumed_at: NOW, reason: '' }
  const epoch = await move(deps, campaign, 'resume', { begins: true, rewind: REWIND, fields })
  await pauseIfStopped(deps, campaign)
  if (epoch === undefined) return
  await deps.queue.add('fan-out', campaign, epoch)
  // Messages that wait for another try lost their job to the pause: the sweep requeues them now.
  for await (const ulids of queuedMessagesOf(deps.redis, campaign))
    await rescheduleSweep(deps.redis, 'queued_again', campaign.lane, ulids, 0)
  await markLane(deps.redis, campaign.lane)
}

/** Stops the campaign for good. */
export async function cancelCampaign(deps: LifecycleDeps, campaign: Campaign): Promise<void> {
  await move(deps, campaign, 'cancel', { begins: true, fields: { ended_at: NOW, reason: '' } })
  // Recipients without a record need no writing: they count as cancelled with the campaign.
  for await (const ulids of queuedMessagesOf(deps.redis, campaign)) {
    for (const ulid of ulids) await cancelStep(deps.redis, { lane: campaign.lane, ulid }, deps.retentionMs)
  }
}

/**
 * The template may have been paused after it was checked. The process that handles that pause pauses all running campaigns: either it
 * finds this one running, or this check finds its write.
 */
async function pauseIfStopped(deps: MoveDeps, campaign: Campaign): Promise<void> {
  const problem = await templateProblem(deps.redis, campaign)
  if (problem === undefined) return
  await pauseCampaign(deps, campaign, `${TEMPLATE_PAUSED}: ${problem.sentence}`)
  throw new Refusal('invalid', problem.code, problem.sentence)
}

/** The state is checked before the template, so that a wrong state is what the refusal names. */
async function requireTemplate({ redis }: LifecycleDeps, campaign: Campaign, kind: CampaignMove): Promise<void> {
  if (!CAMPAIGN_MOVES[kind].from.includes(campaign.state)) return
  const problem = (await templateProblem(redis, campaign)) ?? (await changedTemplate(redis, campaign))
  if (problem !== undefined) throw new Refusal('invalid', problem.code, problem.sentence)
}

/**
 * Makes the move and returns the new epoch; undefined when it was made before. Throws a Refusal that names the allowed moves.
 */
async function move(
  deps: MoveDeps,
  id: CampaignId,
  kind: CampaignMove,
  options: MoveOptions,
): Promise<number | undefined> {
  const result = await moveCampaign(deps.redis, id, kind, deps.retentionMs, options)
  if (result.kind === 'moved') return result.epoch
  if (result.kind === 'missing') throw wrongState('The campaign does not exist any more.')
  if (result.kind === 'closed') throw senderRemoved()
  const { from: allowed, already } = CAMPAIGN_MOVES[kind]
  if (already?.includes(result.state)) return undefined
  const states = allowed.length === 1 ? allowed[0] : `${allowed.slice(0, -1).join(', ')} or ${allowed.at(-1)}`
  const instead = await insteadOf(deps.redis, id, kind, result.state)
  throw wrongState(`This needs a campaign that is ${states}; it is ${result.state}.${instead}`)
}

/** Problems of a blocked campaign that the refusal of its start names. */
const PROBLEMS_NAMED = 3

/** Why a campaign is in this state, and what can be done instead of the move; empty where there is nothing to say. */
async function insteadOf(redis: Redis, id: CampaignId, kind: CampaignMove, state: CampaignState): Promise<string> {
  if (kind === 'resume' && hasEnded(state)) return ' With a class a new campaign is made for part of its recipients.'
  if (kind !== 'start' && kind !== 'schedule') return ''
  if (state === 'draft') return ' Run its preflight first.'
  if (state === 'checking') return ' Its preflight is under way: try again when that has ended.'
  if (state !== 'blocked') return ''
  const problems = (await findCampaign(redis, id))?.preflight?.problems ?? []
  const named = problems
    .slice(0, PROBLEMS_NAMED)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  const more = problems.length > PROBLEMS_NAMED ? ` (and ${problems.length - PROBLEMS_NAMED} more)` : ''
  return ` Its preflight found: ${named.join('; ')}${more}. Mend that and run the preflight again, or create another campaign.`
}

export const senderRemoved = (): Refusal => wrongState('The sender of the campaign was removed.')

export const wrongState = (sentence: string): Refusal => new Refusal('conflict', 'wrong_state', sentence)
