// What an endpoint answered lately: each delivery with its answer and when it is tried again.
import { useState } from 'preact/hooks'
import type { AttemptDocument } from '../../../events/endpoint.ts'
import { counted, countText } from '../../logic/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { Choice } from '../../parts/field.tsx'
import { Age, Shown } from '../../parts/page.tsx'
import { More, useRows } from '../../parts/pager.tsx'
import { Table } from '../../parts/table.tsx'
import { Said, Until, When } from '../../parts/text.tsx'
import { call, type Page } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { endpointAddress } from '../endpoint.tsx'

const LIMIT = 50
const EVERY_MS = 3_000
const SHOWN = [
  ['', 'all'],
  ['failed', 'failed ones'],
] as const

/** The table, the latest first. Once older ones are shown it stands still. */
export function Attempts({ id }: { id: string }) {
  const [shown, setShown] = useState('')
  const [still, setStill] = useState(false)
  const list = (cursor?: string, signal?: AbortSignal): Promise<Page<AttemptDocument>> =>
    call('GET', `${endpointAddress(id)}/attempts`, { query: { limit: LIMIT, cursor }, ...(signal ? { signal } : {}) })
  const loaded = useLoad(`attempts ${id}`, (signal) => list(undefined, signal), still ? undefined : EVERY_MS)
  const { rows, more } = useRows(loaded, (cursor) => list(cursor))
  const wanted = rows.filter(({ ok }) => shown === '' || !ok)
  return (
    <section aria-labelledby="attempts" class="stack">
      <div class="spread">
        <h2 id="attempts">Deliveries</h2>
        <div class="beside-title">
          <Choice label="Show" value={shown} onValue={setShown} options={SHOWN} />
        </div>
      </div>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          wanted.length === 0 ? (
            <p class="quiet">
              {rows.length === 0 ? 'Nothing was delivered within the last 7 days.' : 'None of these failed.'}
            </p>
          ) : (
            <AttemptTable rows={wanted} />
          )
        }
      </Shown>
      <More
        more={
          more &&
          (async () => {
            setStill(true)
            await more()
          })
        }
        name="Show older ones"
      />
    </section>
  )
}

const AttemptTable = ({ rows }: { rows: readonly AttemptDocument[] }) => (
  <Table
    caption="Deliveries"
    rows={rows}
    keyOf={({ delivery, attempt, at }) => `${delivery} ${attempt} ${at}`}
    columns={[
      { title: 'When', head: true, cell: ({ at }) => <When at={at} /> },
      {
        title: 'Answer',
        cell: ({ ok, status, problem, answer }) => (
          <>
            <Badge tone={ok ? 'good' : 'bad'}>{status === null ? 'no answer' : String(status)}</Badge>
            {(problem ?? answer) !== '' && (
              <span class="reason">
                <Said text={problem ?? answer} />
              </span>
            )}
          </>
        ),
      },
      {
        title: 'Events',
        cell: ({ events, types }) => (
          <>
            {counted(events, 'event')}
            <span class="reason">
              <Said text={types.join(', ')} />
            </span>
          </>
        ),
      },
      {
        title: 'Attempt',
        number: true,
        wide: true,
        cell: ({ attempt, retry_at }) => (
          <>
            {countText(attempt)}
            {retry_at !== null && Date.parse(retry_at) > Date.now() && (
              <span class="reason">
                again <Until at={retry_at} />
              </span>
            )}
          </>
        ),
      },
      { title: 'Took', number: true, wide: true, cell: ({ took_ms }) => `${countText(took_ms)} ms` },
      { title: 'Delivery', wide: true, cell: ({ delivery }) => <code class="short">{delivery}</code> },
    ]}
  />
)
