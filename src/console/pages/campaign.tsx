// One campaign: what it is, its preflight, its ledger, and what can be done with it.
import { useEffect, useState } from 'preact/hooks'
import type { CampaignDescription } from '../../campaigns/commands/campaign-document.ts'
import { rateText } from '../logic/numbers.ts'
import { spanText } from '../logic/spans.ts'
import { CampaignState } from '../parts/badge.tsx'
import { Age, Page, Shown } from '../parts/page.tsx'
import { Said } from '../parts/text.tsx'
import { Waits } from '../parts/waits.tsx'
import { dataOf } from '../state/http.ts'
import { snapshot } from '../state/live.ts'
import { useLoad } from '../state/load.ts'
import { CampaignActions } from './campaign/actions.tsx'
import { CampaignFacts } from './campaign/facts.tsx'
import { LedgerCard } from './campaign/ledger.tsx'
import { Preflight } from './campaign/preflight.tsx'
import { progressOf } from './campaign/progress.ts'

const FAST_MS = 1_000
const SLOW_MS = 10_000

/** Follows it second by second while it moves. */
export function CampaignPage({ id }: { id: string }) {
  const [every, setEvery] = useState(FAST_MS)
  const loaded = useLoad<CampaignDescription>(
    `campaign ${id}`,
    (signal) => dataOf('GET', `/campaigns/${encodeURIComponent(id)}`, { signal }),
    every,
  )
  const campaign = loaded.value
  const moves = campaign === undefined || ['checking', 'running', 'scheduled'].includes(campaign.state)
  useEffect(() => setEvery(moves ? FAST_MS : SLOW_MS), [moves])
  const live = snapshot.value?.campaigns.find((each) => each.id === id)
  return (
    <Page
      title={campaign?.name || id}
      above={<a href="/console/campaigns">Campaigns</a>}
      badge={campaign && <CampaignState state={campaign.state} />}
      actions={campaign && <CampaignActions campaign={campaign} onChange={loaded.put} />}
    >
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {(found) => (
          <>
            {found.reason !== null && (
              <p class="held">
                <span aria-hidden="true">‖ </span>Held because: <Said text={found.reason} />
              </p>
            )}
            <Waits id={id} waits={found.waits} />
            {found.progress.held_to !== null && (
              <p class="held">
                <span aria-hidden="true">! </span>
                Throttled by the provider: held to {rateText(found.progress.held_to)} per second.
              </p>
            )}
            {found.state === 'running' && (
              <p role="status">
                {rateText(found.progress.rate_per_second)} per second
                {found.progress.seconds_left === null ? '.' : `; ${spanText(found.progress.seconds_left)} left.`}
              </p>
            )}
            {found.started_at !== null && <LedgerCard campaign={found} progress={progressOf(found, live)} />}
            <div class="halves">
              <Preflight campaign={found} />
              <CampaignFacts campaign={found} />
            </div>
          </>
        )}
      </Shown>
    </Page>
  )
}
