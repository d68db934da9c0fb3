// The circuit breaker of a campaign: pauses it at the first refusals that concern all of it; the share of failures
// (failure-share.ts) needs a hundred messages. Refused messages are proven unsent and stay queued for the resume, so almost nobody is
// lost, however many were in flight.

import { LRUCache } from 'lru-cache'
import type { Config } from '../../kernel/config.ts'
import type { Log } from '../../kernel/log.ts'
import { mostEntries } from '../../kernel/most-entries.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { TEMPLATE_PAUSED } from '../../model/campaigns/lifecycle.ts'
import type { Outcome } from '../../model/messages/outcome.ts'
import { describeCode, isOfWhatsApp } from '../../model/messages/provider-codes.ts'
import { latestOf, type Reported } from '../../model/messages/reported.ts'
import { findCampaign, idOf, moveCampaign } from '../../recipients/campaigns.ts'
import { logOwnPause } from '../../recipients/own-pauses.ts'
import type { Redis } from '../../redis/connect.ts'
import { observerOf } from '../../redis/observe.ts'
import { pauseCampaignsOf } from '../commands/template-paused.ts'

/**
 * Refusals in a row, with no message sent in between, that pause a campaign when each alone may be about one person's
 * values. Where one person in ten has bad values, it happens once in 100,000 messages. Each worker loses one fewer.
 */
const IN_A_ROW = 5
/** Campaigns with refusals in a row; beyond that the oldest is forgotten. */
const MOST = 1_000

/** WhatsApp has paused or disabled the template, so that it refuses whatever else is sent with it. */
const PAUSED_TEMPLATE: ReadonlySet<string> = new Set(['132015', '132016'])

type Refusal = Extract<Outcome, { kind: 'failed' }>

export type CampaignRefusals = ReturnType<typeof createCampaignRefusals>

/**
 * The refusals in a row of all campaigns, of those that come as answers or of those that are reported later: each kind has
 * streaks of its own, since a message that fails later was taken at first.
 */
export function createCampaignRefusals(deps: { redis: Redis; log: Log; config: Pick<Config, 'retentionMs'> }) {
  /** `epoch`: the one in which the campaign was paused for them. */
  const streaks = new LRUCache<string, { count: number; epoch: number | undefined }>({ ...mostEntries(MOST) })

  /** Pauses the campaign; undefined when it goes on, as it runs in a later epoch, or has ended. */
  async function pause(
    campaign: CampaignId,
    reason: string,
    code: string,
    epoch?: number,
  ): Promise<number | undefined> {
    const fields = { reason }
    const options = epoch === undefined ? { fields } : { fields, epoch }
    const moved = await moveCampaign(deps.redis, campaign, 'pause', deps.config.retentionMs, options)
    if (moved.kind === 'moved') {
      deps.log.warn({ campaign: idOf(campaign), code }, 'campaign.auto_paused')
      observerOf(deps.redis).campaignPaused(reason.startsWith(TEMPLATE_PAUSED) ? 'template' : 'failures')
      await logOwnPause(deps.redis, campaign, reason)
    }
    return moved.kind !== 'missing' && moved.state === 'paused' ? moved.epoch : undefined
  }

  /** Other campaigns with the template of this one. Should it be lost, the next refusal of each pauses it. */
  async function pauseOthers(campaign: CampaignId, reason: string): Promise<void> {
    const found = await findCampaign(deps.redis, campaign)
    if (found === undefined) return
    const { name, language } = found.definition.template
    const template = { name, language: language.code.replaceAll('-', '_') }
    await pauseCampaignsOf({ redis: deps.redis, retentionMs: deps.config.retentionMs }, found.account, template, reason)
  }

  /** Whether a person has resumed the campaign since. */
  async function isOver(campaign: CampaignId, reported: Reported): Promise<boolean> {
    return ((await findCampaign(deps.redis, campaign))?.resumed_at ?? 0) > latestOf(reported)
  }

  return {
    /**
     * Whether the refusal is about all of the campaign. Then it is paused, and the message is to stay queued. `reported`: it
     * is a later report of an accepted message that has failed.
     */
    async pausesCampaign(
      campaign: CampaignId,
      { concerns, problem: { code } }: Refusal,
      reported?: Reported,
    ): Promise<boolean> {
      const mayPause = concerns !== 'recipient' && concerns !== 'account' && concerns !== 'provider'
      if (!mayPause || (reported !== undefined && (await isOver(campaign, reported)))) return false
      if (concerns === 'file') {
        // Some codes are ours, such as that of a file that was removed.
        const why = isOfWhatsApp(code) ? `: WhatsApp refused it, ${describeCode(code)}` : ` (${code})`
        return (await pause(campaign, `A file in its messages cannot be sent${why}.`, code)) !== undefined
      }
      if (concerns === 'template') {
        const isPaused = PAUSED_TEMPLATE.has(code)
        const reason = `${isPaused ? `${TEMPLATE_PAUSED}: ` : ''}WhatsApp refuses its template: ${describeCode(code)}.`
        if ((await pause(campaign, reason, code)) === undefined) return false
        if (isPaused) await pauseOthers(campaign, reason)
        return true
      }
      // A repeated report does not extend the streak.
      if (reported?.isRepeated) return false
      const name = idOf(campaign)
      const streak = streaks.get(name) ?? { count: 0, epoch: undefined }
      streak.count += 1
      streaks.set(name, streak)
      if (streak.count < IN_A_ROW) return false
      const reason = `WhatsApp refused ${IN_A_ROW} messages in a row: ${describeCode(code)}.`
      streak.epoch = await pause(campaign, reason, code, streak.epoch)
      if (streak.epoch !== undefined) return true
      // A person has resumed it: what was refused before no longer counts.
      streaks.set(name, { count: 1, epoch: undefined })
      return false
    },

    /** WhatsApp took a message of the campaign; of those that are reported later, it was delivered. */
    over(campaign: CampaignId): void {
      if (streaks.size > 0) streaks.delete(idOf(campaign))
    },

    /** Whether any campaign has refusals in a row. */
    hasStreaks: (): boolean => streaks.size > 0,
  }
}
