// Campaigns that are under way, and the last few.

import { parseCampaignId } from '../../../campaigns/campaign.ts'
import type { Snapshot, SnapshotCampaign, SnapshotLane } from '../../../telemetry/snapshot.ts'
import { isInTrouble, laneWords } from '../../logic/lane-words.ts'
import { shareText } from '../../logic/numbers.ts'
import { spanText } from '../../logic/spans.ts'
import { CampaignState } from '../../parts/badge.tsx'
import { CampaignLink } from '../../parts/search-link.tsx'
import { Gauge } from '../../parts/spark.tsx'
import { Said } from '../../parts/text.tsx'
import { may } from '../../state/session.ts'

const handled = (campaign: SnapshotCampaign): number =>
  campaign.total - campaign.queued - campaign.sending - campaign.unconfirmed

const laneOf = ({ id }: SnapshotCampaign, lanes: readonly SnapshotLane[]): SnapshotLane | undefined =>
  lanes.find(({ sender }) => sender === parseCampaignId(id)?.lane)

/** Why nothing of a campaign leaves that runs: its lane stands. */
function Standstill({ lane }: { lane: SnapshotLane | undefined }) {
  if (lane === undefined || !isInTrouble(lane)) return null
  const { word, means } = laneWords(lane.state)
  return (
    <p class="held">
      <span aria-hidden="true">! </span>
      <a href={`/console/lanes/${lane.sender}`}>Lane {lane.sender}</a>: {word}. <Said text={lane.reason || means} />
    </p>
  )
}

/** Their names, how far each is, and what holds it. */
export function CampaignsNow({ campaigns, lanes }: Pick<Snapshot, 'campaigns' | 'lanes'>) {
  return (
    <section class="card" aria-labelledby="campaigns-now">
      <h2 id="campaigns-now">Campaigns</h2>
      {campaigns.length === 0 && (
        <p>
          No campaign yet.{' '}
          {may('sendMany') && <a href="/console/campaigns/new">Send one message to many people with a campaign</a>}
        </p>
      )}
      <ul class="plain rows">
        {campaigns.slice(0, 8).map((campaign) => (
          <li key={campaign.id}>
            <div class="spread">
              <CampaignLink id={campaign.id}>
                <Said text={campaign.name || campaign.id} />
              </CampaignLink>
              <CampaignState state={campaign.state} />
            </div>
            <div class="spread quiet">
              <Gauge label="Share of recipients that are done" value={handled(campaign)} most={campaign.total} />
              <span class="number">
                {shareText(handled(campaign), campaign.total)}
                {campaign.state === 'running' && campaign.eta_s !== null && `, ${spanText(campaign.eta_s)} left`}
              </span>
            </div>
            <Standstill lane={campaign.state === 'running' ? laneOf(campaign, lanes) : undefined} />
            {(campaign.paused_for ?? campaign.throttle) !== null && (
              <p class="held">
                <span aria-hidden="true">! </span>
                <Said text={campaign.paused_for ?? campaign.throttle ?? ''} />
              </p>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
