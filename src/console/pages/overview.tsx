// Is it going well? What stands still comes first, each with its reason.

import type { Snapshot } from '../../telemetry/snapshot.ts'
import { isInTrouble } from '../logic/lane-words.ts'
import { Page } from '../parts/page.tsx'
import { snapshot } from '../state/live.ts'
import { CampaignsNow } from './overview/campaigns-now.tsx'
import { Failures } from './overview/failures.tsx'
import { Figures } from './overview/figures.tsx'
import { History } from './overview/history.tsx'
import { RedisState, Workers } from './overview/machines.tsx'
import { Trouble } from './overview/trouble.tsx'
import { Welcome } from './overview/welcome.tsx'

/** The first page. */
export function Overview() {
  const figures = snapshot.value
  return (
    <Page title="Overview">
      {figures === undefined ? <p class="quiet">Waiting for the first figures …</p> : <Everything figures={figures} />}
    </Page>
  )
}

const Everything = ({ figures }: { figures: Snapshot }) => (
  <>
    <Welcome figures={figures} />
    <Figures totals={figures.totals} />
    <Trouble lanes={figures.lanes.filter(isInTrouble)} total={figures.lanes_total} />
    <History />
    <div class="halves">
      <div class="stack">
        <CampaignsNow campaigns={figures.campaigns} lanes={figures.lanes} />
        <Workers workers={figures.workers} lost_workers={figures.lost_workers} />
      </div>
      <div class="stack">
        <Failures failures={figures.failures} />
        <RedisState redis={figures.redis} />
      </div>
    </div>
  </>
)
