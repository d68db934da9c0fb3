// Dead letters of a lane: jobs that could not be processed, with their reasons.
import type { DeadLetter } from '../../../lanes/dead-letters.ts'
import type { ListedMessage } from '../../../messages/lookup/message-schema.ts'
import type { SnapshotLane } from '../../../telemetry/snapshot.ts'
import { countText } from '../../logic/numbers.ts'
import { Age, Shown } from '../../parts/page.tsx'
import { SearchLink } from '../../parts/search-link.tsx'
import { Table } from '../../parts/table.tsx'
import { Said, When } from '../../parts/text.tsx'
import { actingHeadersFor, call, type Page } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { may } from '../../state/session.ts'

const MOST = 20

/** From the lane itself for whoever runs it, else as messages. */
async function latest({ sender, account }: SnapshotLane, signal: AbortSignal): Promise<DeadLetter[]> {
  const query = { limit: MOST }
  if (may('runLanes')) {
    const headers = actingHeadersFor(account)
    return (await call<Page<DeadLetter>>('GET', `/admin/lanes/${sender}/dead-letters`, { query, headers, signal })).data
  }
  const wanted = { ...query, sender, code: 'dead_letter' }
  const { data } = await call<Page<ListedMessage>>('GET', '/messages', { query: wanted, signal })
  return data.map(({ id, accepted_at, problem }) => ({
    id,
    failed_at: accepted_at,
    reason: problem?.sentence ?? '',
  }))
}

/** The latest of them, with a way to all. */
export function DeadLetters({ lane }: { lane: SnapshotLane }) {
  const mayLook = may('runLanes') || may('see')
  const loaded = useLoad(
    lane.dead_letters > 0 && mayLook ? `dead ${lane.sender} ${lane.dead_letters}` : undefined,
    (signal) => latest(lane, signal),
  )
  return (
    <section class="card" id="dead-letters" aria-labelledby="dead-title">
      <h2 id="dead-title">Dead letters: {countText(lane.dead_letters)}</h2>
      {lane.dead_letters === 0 ? (
        <p>None. A job that could not be processed would be kept here with its reason.</p>
      ) : (
        <>
          <p>These jobs could not be processed. Once the cause is gone, requeue sends them.</p>
          {mayLook && (
            <>
              <Age loaded={loaded} />
              <Shown loaded={loaded}>
                {(letters) => (
                  <Table
                    caption="Dead letters"
                    rows={letters}
                    keyOf={({ id }) => id}
                    columns={[
                      {
                        title: 'Message',
                        head: true,
                        cell: ({ id }) => (may('look') ? <a href={`/console/messages/${id}`}>{id}</a> : id),
                      },
                      { title: 'When', cell: ({ failed_at }) => <When at={failed_at} /> },
                      { title: 'Reason', cell: ({ reason }) => <Said text={reason} /> },
                    ]}
                  />
                )}
              </Shown>
            </>
          )}
          {may('see') && (
            <p>
              <SearchLink filters={{ sender: String(lane.sender), code: 'dead_letter' }}>
                All of them, to requeue
              </SearchLink>
            </p>
          )}
        </>
      )}
    </section>
  )
}
