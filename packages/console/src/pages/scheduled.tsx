// What is to leave later: messages with a send_at and scheduled campaigns, the next first. Its filters are in the address bar.
import type { messages } from '../../../../src/producer/api/messages/routes.ts'
import { countText } from '../logic/numbers.ts'
import { Filter } from '../parts/filter.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import type { Data } from '../state/http.ts'
import { senderChoices } from '../state/library.ts'
import { place } from '../state/router.ts'

const EVERY_MS = 5_000

type Scheduled = Data<typeof messages.scheduled>[number]

/** The list; `?since=`, `?until=` and `?sender=` filter it. */
export function ScheduledPage() {
  const { query } = place.value
  return (
    <Page title="Scheduled">
      <search class="filters">
        <Filter name="since" label="Leaves since" kind="time" />
        <Filter name="until" label="Leaves before" kind="time" />
        <Filter name="sender" label="Sender" options={[['', 'any'], ...senderChoices()]} />
      </search>
      <List
        caption="Scheduled messages and campaigns"
        from={listAt<Scheduled>('/scheduled', { ...Object.fromEntries(query), limit: 50 })}
        every={EVERY_MS}
        more="Show later ones"
        keyOf={(entry) => (entry.kind === 'message' ? entry.message.id : entry.campaign.id)}
        empty={
          query.size > 0 ? (
            <Empty title="Nothing leaves then.">
              <a href="/console/scheduled">Show all that is scheduled</a>
            </Empty>
          ) : (
            <Empty title="Nothing is scheduled.">Messages with a send_at and scheduled campaigns appear here.</Empty>
          )
        }
        columns={[
          { title: 'Leaves', head: true, at: ({ at }) => at },
          {
            title: 'What',
            text: (entry) => (entry.kind === 'message' ? entry.message.kind : entry.campaign.name || entry.campaign.id),
            href: (entry) =>
              entry.kind === 'message'
                ? `/console/messages/${encodeURIComponent(entry.message.id)}`
                : `/console/campaigns/${entry.campaign.id}`,
          },
          {
            title: 'To',
            text: (entry) =>
              entry.kind === 'message' ? entry.message.to : `${countText(entry.campaign.progress.total)} recipients`,
          },
          {
            title: 'Sender',
            wide: true,
            text: (entry) => (entry.kind === 'message' ? entry.message.sender : entry.campaign.sender) ?? 'gone',
          },
        ]}
      />
    </Page>
  )
}
