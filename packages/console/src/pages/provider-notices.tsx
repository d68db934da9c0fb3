// WhatsApp's notices about accounts, numbers and templates, live, by field, sender and template.
import type { NoticeDocument as Notice } from '../../../../src/model/notice.ts'
import { ACCOUNT_UPDATE_FIELDS } from '../../../../src/providers/account-updates.ts'
import { counted } from '../logic/numbers.ts'
import { noticeTone } from '../logic/words.ts'
import { Filter } from '../parts/filter.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Badge, LaneLink, Text, words } from '../parts/text.tsx'
import { actingFor, isOperator } from '../state/http.ts'
import { snapshot } from '../state/live.ts'
import { place } from '../state/router.ts'

const EVERY_MS = 5_000
const FIELDS = [...ACCOUNT_UPDATE_FIELDS, 'user_preferences', 'user_actions', 'errors'] as const

/** The list; `?field=`, `?sender=` and `?template=` filter it. */
export function ProviderNotices() {
  const { query } = place.value
  const lanes = [...(snapshot.value?.lanes ?? [])].sort((one, other) => one.sender - other.sender)
  const nameOf = (sender: number): string => lanes.find((lane) => lane.sender === sender)?.name ?? ''
  return (
    <Page title="Notices">
      <p>
        WhatsApp’s notices about accounts, numbers and templates. Laneway applies those that it understands, and keeps
        all of them for 90 days.
      </p>
      <search class="filters">
        <Filter
          name="field"
          label="About"
          options={[['', 'anything'], ...FIELDS.map((field) => [field, fieldText(field)] as const)]}
        />
        <Filter
          name="sender"
          label="Sender"
          options={[['', 'any'], ...lanes.map(({ sender, name }) => [String(sender), `${sender} ${name}`] as const)]}
        />
        <Filter name="template" label="Template" kind="search" placeholder="any" />
      </search>
      <List
        key={query.toString()}
        cards
        caption="Notices"
        from={listAt<Notice>('/admin/notices', { limit: 50, ...Object.fromEntries(query) })}
        every={EVERY_MS}
        more="Show older ones"
        keyOf={({ id, account }) => `${account} ${id}`}
        empty={
          query.size > 0 ? (
            <Empty title="No notice matches.">
              <a href="/console/notices">Show all notices</a>
            </Empty>
          ) : (
            <Empty title="No notice yet.">
              Have it send the webhooks of these fields as well; <a href="/console/senders">Senders</a> has the address.
            </Empty>
          )
        }
        columns={[
          { title: 'When', at: ({ at }) => at },
          {
            title: 'What',
            head: true,
            cell: ({ event, sentence }) => (
              <>
                {event !== null && <Badge tone={noticeTone(event)}>{event}</Badge>} <Text text={sentence} />
              </>
            ),
            note: detailsText,
          },
          { title: 'About', wide: true, text: ({ field }) => fieldText(field) },
          isOperator.value &&
            actingFor.value === undefined && {
              title: 'Account',
              wide: true,
              text: ({ account }) => String(account ?? ''),
            },
          {
            title: 'Sender',
            cell: ({ sender }) => (sender === null ? '–' : <LaneLink sender={sender} name={nameOf(sender)} />),
          },
          {
            title: 'Template',
            text: ({ template }) => template && `${template.name} (${template.language})`,
          },
        ]}
      />
    </Page>
  )
}

/** Such as `template status`, of `message_template_status_update`. */
const fieldText = (field: string): string =>
  field
    .replace(/^message_/, '')
    .replace(/_update$/, '')
    .replaceAll('_', ' ')

function detailsText({ details, missed }: Notice) {
  const parts = Object.entries(details).map(([name, value]) => `${name.replaceAll('_', ' ')}: ${value}`)
  if (missed > 0) parts.push(`${counted(missed, 'notice')} before it came too fast to be kept`)
  return parts.length > 0 && words`${parts.join('; ')}`
}
