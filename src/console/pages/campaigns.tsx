// All campaigns, the latest first.

import { CAMPAIGN_STATES } from '../../campaigns/campaign.ts'
import type { CampaignDescription } from '../../campaigns/commands/campaign-document.ts'
import { ledgerOf } from '../logic/ledger.ts'
import { countText, shareText } from '../logic/numbers.ts'
import { spanText } from '../logic/spans.ts'
import { CampaignState } from '../parts/badge.tsx'
import { Choice } from '../parts/field.tsx'
import { Age, Empty, Page, Shown } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { Said, When } from '../parts/text.tsx'
import { addressOf, call, type Page as Listed } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'

const LIMIT = 100
const EVERY_MS = 5_000

/** The list, by state if wanted; `?after=` is an older part of it, which is followed as the newest is. */
export function Campaigns() {
  const { query } = place.value
  const [state, after] = [query.get('state') ?? '', query.get('after') ?? '']
  const loaded = useLoad<Listed<CampaignDescription>>(
    `campaigns ${state} ${after}`,
    (signal) => call('GET', '/campaigns', { query: { limit: LIMIT, state, cursor: after }, signal }),
    EVERY_MS,
  )
  const next = loaded.value?.next ?? null
  return (
    <Page
      title="Campaigns"
      actions={
        may('sendMany') && (
          <a class="button primary" href="/console/campaigns/new">
            New campaign
          </a>
        )
      }
    >
      <search class="filters">
        <Choice
          label="State"
          value={state}
          onValue={(chosen) => go(chosen === '' ? '/console/campaigns' : `/console/campaigns?state=${chosen}`)}
          options={[['', 'any'], ...CAMPAIGN_STATES.map((each) => [each, each] as const)]}
        />
      </search>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {({ data }) => (data.length === 0 ? <None state={state} /> : <CampaignTable campaigns={data} />)}
      </Shown>
      <p class="actions">
        {after !== '' && <a href={addressOf('/console/campaigns', { state })}>The newest ones</a>}
        {next !== null && <a href={addressOf('/console/campaigns', { state, after: next })}>Older ones</a>}
      </p>
    </Page>
  )
}

const None = ({ state }: { state: string }) =>
  state === '' ? (
    <Empty title="No campaign yet.">
      <p>A campaign sends one approved template to many people and accounts for each of them.</p>
    </Empty>
  ) : (
    <Empty title={`No campaign is ${state}.`}>
      <p>
        <a href="/console/campaigns">Show all campaigns</a>
      </p>
    </Empty>
  )

const CampaignTable = ({ campaigns }: { campaigns: readonly CampaignDescription[] }) => (
  <Table
    caption="Campaigns"
    rows={campaigns}
    keyOf={({ id }) => id}
    columns={[
      {
        title: 'Campaign',
        head: true,
        sort: ({ id, name }) => name || id,
        cell: ({ id, name }) => (
          <a href={`/console/campaigns/${id}`}>
            <Said text={name || id} />
          </a>
        ),
      },
      {
        title: 'State',
        cell: ({ state, reason, waits }) => {
          const why = reason ?? waits?.sentence
          return (
            <>
              <CampaignState state={state} />
              {why !== undefined && (
                <span class="reason">
                  <Said text={why} />
                </span>
              )}
            </>
          )
        },
      },
      {
        title: 'Template',
        wide: true,
        sort: ({ template }) => template.name,
        cell: ({ template }) => <Said text={template.name} />,
      },
      {
        title: 'Created',
        wide: true,
        sort: ({ created_at }) => Date.parse(created_at),
        cell: ({ created_at }) => <When at={created_at} />,
      },
      {
        title: 'Recipients',
        number: true,
        sort: ({ progress }) => progress.total,
        cell: ({ progress }) => countText(progress.total),
      },
      {
        title: 'Done',
        number: true,
        cell: ({ progress }) => shareText(ledgerOf(progress).settled, progress.total),
      },
      {
        title: 'Failed',
        number: true,
        wide: true,
        sort: ({ progress }) => progress.failed,
        cell: ({ progress }) => countText(progress.failed),
      },
      {
        title: 'Time left',
        number: true,
        wide: true,
        cell: ({ state, progress }) => (state === 'running' ? spanText(progress.seconds_left) : '–'),
      },
    ]}
  />
)
