// Who did what, and when: over HTTP, in the console, on the command line. Kept for 90 days.

import type { ActivityEntry } from '../../accounts/audit-log.ts'
import { actWords } from '../logic/act-words.ts'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { Table } from '../parts/table.tsx'
import { Said, When } from '../parts/text.tsx'
import { actingFor, call, isOperator, type Page } from '../state/http.ts'
import { useLoad } from '../state/load.ts'

const LIMIT = 100
const ACCOUNT = {
  title: 'Account',
  number: true,
  wide: true,
  cell: ({ account }: ActivityEntry) => account ?? '–',
}

/** In words, with the name under which the log and the command line tell it. */
function What({ action }: Pick<ActivityEntry, 'action'>) {
  const words = actWords(action)
  if (words === undefined) return <Said text={action} />
  return (
    <>
      {words} <code class="reason">{action}</code>
    </>
  )
}

/** The list, the latest first. */
export function Activity() {
  const list = (cursor?: string, signal?: AbortSignal): Promise<Page<ActivityEntry>> =>
    call('GET', '/admin/activity', { query: { limit: LIMIT, cursor }, ...(signal ? { signal } : {}) })
  const loaded = useLoad('activity', (signal) => list(undefined, signal))
  const ofAll = isOperator.value && actingFor.value === undefined
  const { rows, more } = useRows(loaded, (cursor) => list(cursor))
  return (
    <Frame title="Activity">
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Empty title="Nobody has changed anything yet.">
              <p>Pauses, rates, keys, senders, campaigns, requeues: each appears here with whoever did it.</p>
            </Empty>
          ) : (
            <Table
              cards
              caption="Activity"
              rows={rows}
              keyOf={(entry) => `${entry.at} ${entry.action} ${entry.target} ${entry.request_id}`}
              columns={[
                { title: 'When', head: true, cell: ({ at }) => <When at={at} /> },
                {
                  title: 'Who',
                  cell: ({ actor }) =>
                    'cli' in actor ? (
                      <>
                        <Said text={actor.cli} /> <span class="reason">on the command line</span>
                      </>
                    ) : (
                      <Said text={actor.key_name || (actor.key_id ?? 'a key that nobody was given')} />
                    ),
                },
                { title: 'What', cell: ({ action }) => <What action={action} /> },
                { title: 'Target', cell: ({ target }) => <Said text={target ?? '–'} /> },
                {
                  title: 'Detail',
                  wide: true,
                  cell: ({ detail }) => <Said class="anywhere" text={detail?.replaceAll(',', ', ') ?? '–'} />,
                },
                ...(ofAll ? [ACCOUNT] : []),
              ]}
            />
          )
        }
      </Shown>
      <More more={more} />
    </Frame>
  )
}
