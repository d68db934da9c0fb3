// Campaigns that are under way, and the last few.

import type { SnapshotCampaign } from '../../../telemetry/snapshot.ts'
import { shareText } from '../../logic/numbers.ts'
import { spanText } from '../../logic/spans.ts'
import { CampaignState } from '../../parts/badge.tsx'
import { CampaignLink } from '../../parts/search-link.tsx'
import { Gauge } from '../../parts/spark.tsx'
import { Said } from '../../parts/text.tsx'
import { may } from '../../state/session.ts'

const handled = (campaign: SnapshotCampaign): number =>
  campaign.total - campaign.queued - campaign.sending - campaign.unconfirmed

/** Their names, how far each is, and what holds it. */
export function CampaignsNow({ campaigns }: { campaigns: readonly SnapshotCampaign[] }) {
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
