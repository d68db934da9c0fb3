// All campaigns, the latest first.

import type { CampaignDescription } from '../../../../src/campaigns/commands/campaign-document.ts'
import { CAMPAIGN_STATES } from '../../../../src/model/campaigns/lifecycle.ts'
import { ledgerOf, uncertainText } from '../logic/ledger.ts'
import { shareText, spanText } from '../logic/numbers.ts'
import { SHARE_COLUMNS } from '../logic/share-columns.ts'
import { reasonText } from '../logic/words.ts'
import { Filter } from '../parts/filter.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { CampaignState, Said } from '../parts/text.tsx'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'

const EVERY_MS = 5_000

/** The list; `?state=` filters it. */
export function Campaigns() {
  const state = place.value.query.get('state') ?? ''
  const actions = may('bulkSend') && (
    <a class="button primary" href="/console/campaigns/new">
      New campaign
    </a>
  )
  return (
    <Page title="Campaigns" actions={actions}>
      <search class="filters">
        <Filter
          name="state"
          label="State"
          options={[['', 'any'], ...CAMPAIGN_STATES.map((each) => [each, each] as const)]}
        />
      </search>
      <List
        caption="Campaigns"
        from={listAt<CampaignDescription>('/campaigns', { limit: 100, state })}
        every={EVERY_MS}
        more="Show older ones"
        keyOf={({ id }) => id}
        empty={<None state={state} />}
        columns={[
          {
            title: 'Campaign',
            head: true,
            sort: true,
            text: ({ id, name }) => name || id,
            href: ({ id }) => `/console/campaigns/${id}`,
          },
          {
            title: 'State',
            cell: ({ state }) => <CampaignState state={state} />,
            note: ({ reason, waits }) =>
              reason === null ? waits && <Said text={waits.sentence} /> : reasonText(reason),
          },
          { title: 'Template', wide: true, sort: true, text: ({ template }) => template.name },
          {
            title: 'Created',
            wide: true,
            sort: ({ created_at }) => Date.parse(created_at),
            at: ({ created_at }) => created_at,
          },
          { title: 'Recipients', count: ({ progress }) => progress.total, sort: true },
          {
            title: 'Done',
            number: true,
            cell: ({ progress }) => shareText(ledgerOf(progress).settled, progress.total),
            note: ({ progress }) => uncertainText(progress),
          },
          ...SHARE_COLUMNS,
          { title: 'Failed', wide: true, count: ({ progress }) => progress.failed, sort: true },
          {
            title: 'Time left',
            number: true,
            wide: true,
            cell: ({ state, progress }) => (state === 'running' ? spanText(progress.seconds_left) : '–'),
          },
        ]}
      />
    </Page>
  )
}

const None = ({ state }: { state: string }) =>
  state === '' ? (
    <Empty title="No campaign yet.">
      A campaign sends one approved template to many people and accounts for each of them.
    </Empty>
  ) : (
    <Empty title={`No campaign is ${state}.`}>
      <a href="/console/campaigns">Show all campaigns</a>
    </Empty>
  )
