// All campaigns, the latest first.

import { CAMPAIGN_STATES } from '../../campaigns/campaign.ts'
import type { CampaignDescription } from '../../campaigns/commands/campaign-document.ts'
import { ledgerOf } from '../logic/ledger.ts'
import { shareText, spanText } from '../logic/numbers.ts'
import { CampaignState } from '../parts/badge.tsx'
import { Field } from '../parts/form.tsx'
import { Empty, Page, Shown } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { useLoad } from '../state/hooks.ts'
import { addressOf, call, type Page as Listed } from '../state/http.ts'
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
  const actions = may('sendMany') && (
    <a class="button primary" href="/console/campaigns/new">
      New campaign
    </a>
  )
  return (
    <Page title="Campaigns" actions={actions}>
      <search class="filters">
        <Field
          label="State"
          value={state}
          onValue={(chosen) => go(addressOf('/console/campaigns', { state: chosen }))}
          options={[['', 'any'], ...CAMPAIGN_STATES.map((each) => [each, each] as const)]}
        />
      </search>
      <Shown loaded={loaded} age>
        {({ data }) => (data.length === 0 ? <None state={state} /> : <CampaignTable rows={data} />)}
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
      A campaign sends one approved template to many people and accounts for each of them.
    </Empty>
  ) : (
    <Empty title={`No campaign is ${state}.`}>
      <a href="/console/campaigns">Show all campaigns</a>
    </Empty>
  )

const CampaignTable = ({ rows }: { rows: readonly CampaignDescription[] }) => (
  <Table
    caption="Campaigns"
    rows={rows}
    keyOf={({ id }) => id}
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
        note: ({ reason, waits }) => reason ?? waits?.sentence,
      },
      { title: 'Template', wide: true, sort: true, text: ({ template }) => template.name },
      {
        title: 'Created',
        wide: true,
        sort: ({ created_at }) => Date.parse(created_at),
        at: ({ created_at }) => created_at,
      },
      { title: 'Recipients', count: ({ progress }) => progress.total, sort: true },
      { title: 'Done', number: true, cell: ({ progress }) => shareText(ledgerOf(progress).settled, progress.total) },
      { title: 'Failed', wide: true, count: ({ progress }) => progress.failed, sort: true },
      {
        title: 'Time left',
        number: true,
        wide: true,
        cell: ({ state, progress }) => (state === 'running' ? spanText(progress.seconds_left) : '–'),
      },
    ]}
  />
)
