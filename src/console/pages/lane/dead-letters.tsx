// Dead letters of a lane: jobs that could not be processed, with their reasons.

import type { ListedMessage } from '../../../lookup/message-schema.ts'
import type { SnapshotLane } from '../../../telemetry/snapshot.ts'
import { searchAddress } from '../../logic/message-filters.ts'
import { countText } from '../../logic/numbers.ts'
import { Age, Shown } from '../../parts/page.tsx'
import { Table } from '../../parts/table.tsx'
import { Said, When } from '../../parts/text.tsx'
import { call, type Page } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { may } from '../../state/session.ts'

const MOST = 20

/** The latest of them, with a way to all. */
export function DeadLetters({ lane }: { lane: SnapshotLane }) {
  const sender = String(lane.sender)
  const loaded = useLoad<Page<ListedMessage>>(
    lane.dead_letters > 0 && may('see') ? `dead ${sender} ${lane.dead_letters}` : undefined,
    (signal) => call('GET', '/messages', { query: { sender, code: 'dead_letter', limit: MOST }, signal }),
  )
  return (
    <section class="card" id="dead-letters" aria-labelledby="dead-title">
      <h2 id="dead-title">Dead letters: {countText(lane.dead_letters)}</h2>
      {lane.dead_letters === 0 ? (
        <p>None. A job that could not be processed would be kept here with its reason.</p>
      ) : (
        <>
          <p>These jobs could not be processed. Once the cause is gone, requeue sends them.</p>
          <Age loaded={loaded} />
          <Shown loaded={loaded}>
            {({ data }) => (
              <Table
                caption="Dead letters"
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    title: 'Message',
                    head: true,
                    cell: ({ id }) => <a href={`/console/messages/${id}`}>{id}</a>,
                  },
                  { title: 'Accepted', cell: ({ accepted_at }) => <When at={accepted_at} /> },
                  { title: 'Reason', cell: ({ problem }) => <Said text={problem?.sentence ?? ''} /> },
                ]}
              />
            )}
          </Shown>
          <p>
            <a href={searchAddress({ sender, code: 'dead_letter' })}>All of them, to requeue</a>
          </p>
        </>
      )}
    </section>
  )
}
