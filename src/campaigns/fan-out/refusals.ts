// The fast part of a campaign's circuit breaker: pauses it at the first answers that say that everybody else would be refused
// as well. The share of failures (circuit-breaker.ts) needs a hundred messages for that. What was refused so is proven
// unsent and stays queued for the resume, so that however much was in flight, next to nobody is lost.
import type { Config } from '../../config.ts'
import type { Log } from '../../log.ts'
import type { Outcome } from '../../messages/outcome.ts'
import { codeEntry } from '../../messages/provider-codes.ts'
import { observerOf } from '../../observe.ts'
import type { Redis } from '../../redis/connect.ts'
import type { CampaignId } from '../campaign-id.ts'
import { idOf, moveCampaign } from '../store/campaigns.ts'

/**
 * Refusals in a row, with no message sent in between, that pause a campaign when each alone may be about one person's
 * values. Where one person in ten has bad values, it happens once in 100,000 messages. Each worker loses one fewer.
 */
const IN_A_ROW = 5
/** Campaigns with refusals in a row; beyond that the oldest is forgotten. */
const MOST = 1_000

type Refusal = Extract<Outcome, { kind: 'failed' }>

export type CampaignRefusals = ReturnType<typeof createCampaignRefusals>

/** The refusals in a row of all campaigns that this process sends for. */
export function createCampaignRefusals(deps: { redis: Redis; log: Log; config: Pick<Config, 'retentionMs'> }) {
  /** `epoch`: the one in which the campaign was paused for them. */
  const rows = new Map<string, { count: number; epoch: number | undefined }>()

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
      observerOf(deps.redis).campaignPaused()
    }
    return moved.kind !== 'missing' && moved.state === 'paused' ? moved.epoch : undefined
  }

  return {
    /** Whether the refusal is about all of the campaign. Then it is paused, and the message is to stay queued. */
    async pausesCampaign(campaign: CampaignId, { concerns, problem: { code } }: Refusal): Promise<boolean> {
      if (concerns === 'template') {
        return (await pause(campaign, `WhatsApp refuses its template: ${inWords(code)}.`, code)) !== undefined
      }
      if (concerns !== 'message' && concerns !== 'sender') return false
      const name = idOf(campaign)
      const row = rows.get(name) ?? { count: 0, epoch: undefined }
      row.count += 1
      rows.delete(name)
      rows.set(name, row)
      for (const oldest of rows.keys()) {
        if (rows.size <= MOST) break
        rows.delete(oldest)
      }
      if (row.count < IN_A_ROW) return false
      const reason = `WhatsApp refused ${IN_A_ROW} messages in a row: ${inWords(code)}.`
      row.epoch = await pause(campaign, reason, code, row.epoch)
      if (row.epoch !== undefined) return true
      // A person has resumed it: what was refused before no longer counts.
      rows.set(name, { count: 1, epoch: undefined })
      return false
    },

    /** The chat product took a message of the campaign. */
    over(campaign: CampaignId): void {
      if (rows.size > 0) rows.delete(idOf(campaign))
    },
  }
}

/** Without the chat product's own words, which may quote what a person was to read. */
const inWords = (code: string): string =>
  /^\d+$/.test(code) ? `${codeEntry(Number(code)).means} (code ${code})` : `refused without a code (${code})`
