// What it runs on: workers, Redis, and whether Redis is set up so that nothing can be lost.

import type { Snapshot } from '../../../telemetry/snapshot.ts'
import { bytesText, countText, shareText } from '../../logic/numbers.ts'
import { spanText } from '../../logic/spans.ts'
import { Badge } from '../../parts/badge.tsx'
import { Gauge } from '../../parts/spark.tsx'
import { Table } from '../../parts/table.tsx'
import { Ago, Said } from '../../parts/text.tsx'

type Worker = Snapshot['workers'][number] | Snapshot['lost_workers'][number]

const heartbeatOf = (worker: Worker) =>
  'lost_s' in worker ? (
    <Badge tone="bad">{`lost ${spanText(worker.lost_s)} ago`}</Badge>
  ) : (
    `${spanText(worker.seen_s)} ago`
  )

/** A worker of an older version does not say. */
const inFlightOf = (worker: Worker): string =>
  'lost_s' in worker || worker.in_flight === null || worker.max_in_flight === null
    ? ''
    : `${countText(worker.in_flight)} of ${countText(worker.max_in_flight)}`

/** Who sends, who did until it was lost, and when each was last heard of. */
export const Workers = ({ workers, lost_workers: lost }: Pick<Snapshot, 'workers' | 'lost_workers'>) => (
  <section class="card" aria-labelledby="workers">
    <h2 id="workers">Workers</h2>
    {workers.length === 0 && (
      <p>
        <Badge tone="bad">No worker is alive</Badge> Nothing is sent until one starts: npm run worker.
      </p>
    )}
    {workers.length + lost.length > 0 && (
      <Table
        caption="Workers"
        rows={[...workers, ...lost]}
        keyOf={({ id }: Worker) => id}
        columns={[
          {
            title: 'Host',
            head: true,
            cell: ({ host, pid, id }) => <Said text={host === '' ? id : `${host}, process ${pid}`} />,
          },
          { title: 'Lanes', number: true, cell: (worker) => ('lanes' in worker ? worker.lanes : '') },
          { title: 'In flight', number: true, cell: inFlightOf },
          { title: 'Heartbeat', cell: heartbeatOf },
          { title: 'Started', wide: true, cell: ({ started_at }) => <Ago at={started_at} /> },
          { title: 'Version', wide: true, cell: ({ version }) => <Said text={version} /> },
        ]}
      />
    )}
  </section>
)

/** How full Redis is, and whether what it acknowledges is on disk. */
export function RedisState({ redis: { used_bytes: used, max_bytes: max, safety } }: Pick<Snapshot, 'redis'>) {
  return (
    <section class="card" aria-labelledby="redis">
      <h2 id="redis">Redis</h2>
      <p>
        Memory: {bytesText(used)}
        {max === null ? ', without a limit' : ` of ${bytesText(max)} (${shareText(used, max)}) `}
        {max !== null && <Gauge label="Memory of Redis" value={used} most={max} />}
      </p>
      <ul class="plain rows">
        {safety.map(({ name, ok, sentence }) => (
          <li key={name}>
            <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'safe' : 'unsafe'}</Badge> <Said text={sentence} />
          </li>
        ))}
      </ul>
    </section>
  )
}
