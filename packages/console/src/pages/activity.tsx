// The audit log: who did what and when, over HTTP, in the console and on the command line. Entries are kept for 90 days.
import type { AuditLogEntry } from '../../../../src/model/accounts/audit-log.ts'
import { actionText } from '../logic/words.ts'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { actingFor, isOperator } from '../state/http.ts'

const whoOf = (actor: AuditLogEntry['actor']): string =>
  'system' in actor ? actor.system : 'cli' in actor ? actor.cli : actor.key_name || (actor.key_id ?? 'an unknown key')

/** The list, the latest first. */
export function Activity() {
  const ofAll = isOperator.value && actingFor.value === undefined
  return (
    <Page title="Activity">
      <List
        cards
        caption="Activity"
        from={listAt<AuditLogEntry>('/admin/activity', { limit: 100 })}
        keyOf={(entry) => `${entry.at} ${entry.action} ${entry.target} ${entry.request_id}`}
        empty={
          <Empty title="Nobody has changed anything yet.">
            Pauses, rates, keys, senders, campaigns, requeues: each appears here with who did it.
          </Empty>
        }
        columns={[
          { title: 'When', head: true, at: ({ at }) => at },
          {
            title: 'Who',
            text: ({ actor }) => whoOf(actor),
            note: ({ actor }) => ('cli' in actor ? 'on the command line' : 'system' in actor && 'by itself'),
          },
          {
            title: 'What',
            text: ({ action }) => actionText(action) ?? action,
            // The log and the command line show this name.
            note: ({ action }) => actionText(action) && <code>{action}</code>,
          },
          { title: 'Target', text: ({ target }) => target, note: ({ target_name }) => target_name },
          { title: 'Detail', wide: true, long: true, text: ({ detail }) => detail?.replaceAll(',', ', ') ?? null },
          ofAll && { title: 'Account', number: true, wide: true, cell: ({ account }) => account ?? '–' },
        ]}
      />
    </Page>
  )
}
