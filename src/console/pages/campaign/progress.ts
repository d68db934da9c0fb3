// Which figures of a campaign are the newest: those of its own answer, or those of the stream.
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import type { SnapshotCampaign } from '../../../telemetry/snapshot.ts'
import type { Progress } from '../../logic/ledger.ts'

/** The further of the two. Whichever has fewer that are still queued was counted later, while the campaign runs. */
export function progressOf(campaign: CampaignDescription, live: SnapshotCampaign | undefined): Progress {
  const { progress, state } = campaign
  if (live === undefined || state !== 'running' || live.total !== progress.total) return progress
  return live.queued < progress.queued ? live : progress
}
