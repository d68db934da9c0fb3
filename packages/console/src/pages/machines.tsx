// Cards of the overview: failures by code, workers, and whether the settings of Redis are safe.
import type { Snapshot } from '../../../../src/telemetry/snapshot.ts'
import { bytesText, countText, shareText, spanText } from '../logic/numbers.ts'
import { Table } from '../parts/list.tsx'
import { Card } from '../parts/page.tsx'
import { Ago, Badge, Gauge, SearchLink, sentence, Text } from '../parts/text.tsx'

const anHourAgo = (): string => new Date(Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000).toISOString()

/** Failures of the last hour by code, with their meaning and a link to the messages. */
export const Failures = ({ failures }: Pick<Snapshot, 'failures'>) => (
  <Card title="Failures of the last hour">
    {failures.length === 0 ? (
      <p>None.</p>
    ) : (
      <Table
        caption="Failures of the last hour"
        rows={failures}
        keyOf={({ code }) => code}
        columns={[
          {
            title: 'Code',
            head: true,
            cell: ({ code }) => <SearchLink filters={{ code, since: anHourAgo() }}>{code}</SearchLink>,
          },
          { title: 'Meaning', text: ({ meaning }) => meaning },
          { title: 'Messages', count: ({ count }) => count },
        ]}
      />
    )}
  </Card>
)

type Worker = Snapshot['workers'][number] | Snapshot['lost_workers'][number]

const heartbeatOf = (worker: Worker) =>
  'lost_s' in worker ? (
    <Badge tone="bad">{`lost ${spanText(worker.lost_s)} ago`}</Badge>
  ) : (
    `${spanText(worker.seen_s)} ago`
  )

/** Empty for a lost worker, and for one that does not report it. */
const inFlightOf = (worker: Worker): string =>
  'lost_s' in worker || worker.in_flight === null || worker.max_in_flight === null
    ? ''
    : `${countText(worker.in_flight)} of ${countText(worker.max_in_flight)}`

/** The workers, with those lost in the last hour, and their last heartbeats. */
export const Workers = ({
  workers,
  lost_workers: lost,
  node_problems: ofNode,
}: Pick<Snapshot, 'workers' | 'lost_workers' | 'node_problems'>) => (
  <Card title="Workers">
    {ofNode.map((problem) => (
      <p key={problem}>
        <Badge tone="wait">Node</Badge> {problem}
      </p>
    ))}
    {workers.length === 0 &&
      sentence`${<Badge tone="bad">No worker is alive</Badge>} Nothing is sent until one starts: npm run worker.`}
    {workers.length + lost.length > 0 && (
      <Table<Worker>
        caption="Workers"
        rows={[...workers, ...lost]}
        keyOf={({ id }) => id}
        columns={[
          { title: 'Host', head: true, text: ({ host, pid, id }) => (host === '' ? id : `${host}, process ${pid}`) },
          { title: 'Lanes', number: true, cell: (worker) => ('lanes' in worker ? worker.lanes : '') },
          { title: 'In flight', number: true, cell: inFlightOf },
          { title: 'Heartbeat', cell: heartbeatOf },
          { title: 'Started', wide: true, cell: ({ started_at }) => <Ago at={started_at} /> },
          { title: 'Version', wide: true, text: ({ version }) => version },
        ]}
      />
    )}
  </Card>
)

/** The memory of Redis, and whether its settings keep acknowledged data. */
export const RedisState = ({ redis: { used_bytes: used, max_bytes: max, safety } }: Pick<Snapshot, 'redis'>) => (
  <Card title="Redis">
    <p>
      Memory: {bytesText(used)}
      {max === null ? ', without a limit' : ` of ${bytesText(max)} (${shareText(used, max)}) `}
      {max !== null && <Gauge label="Memory of Redis" value={used} most={max} />}
    </p>
    <ul class="plain rows">
      {safety.map(({ name, ok, sentence }) => (
        <li key={name}>
          <Badge tone={ok ? 'good' : 'bad'}>{ok ? 'safe' : 'unsafe'}</Badge> <Text text={sentence} />
        </li>
      ))}
    </ul>
  </Card>
)
