// All lanes: what waits, why it waits, and how much of its pace each uses.
import { useState } from 'preact/hooks'
import { isShortOfRoom } from '../../telemetry/lane-bound.ts'
import type { SnapshotLane } from '../../telemetry/snapshot.ts'
import { boundWords, laneWords, waitingOf } from '../logic/lane-words.ts'
import { counted, countText } from '../logic/numbers.ts'
import { answerText, spanText } from '../logic/spans.ts'
import { Badge } from '../parts/badge.tsx'
import { TextField } from '../parts/field.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { Said, Until } from '../parts/text.tsx'
import { snapshot } from '../state/live.ts'
import { may } from '../state/session.ts'
import { Pace } from './lane/pace.tsx'
import { PauseButton } from './lane/pause.tsx'

/** A lane fits when its number or name holds the words. */
const fits = ({ sender, name }: SnapshotLane, words: string): boolean =>
  `${sender} ${name}`.toLowerCase().includes(words.trim().toLowerCase())

/** The table of lanes; those in trouble come first, as the server sorts them. */
export function Lanes() {
  const [words, setWords] = useState('')
  const figures = snapshot.value
  if (figures === undefined) {
    return (
      <Page title="Lanes">
        <p class="quiet">Waiting for the first figures …</p>
      </Page>
    )
  }
  const lanes = figures.lanes.filter((lane) => fits(lane, words))
  return (
    <Page title="Lanes">
      {figures.lanes_total === 0 ? (
        <Empty title="No lane yet.">
          <p>Each sender has a lane of its own. {may('run') && <a href="/console/senders">Add a sender</a>}</p>
        </Empty>
      ) : (
        <>
          <search class="filters">
            <TextField label="Find a sender" type="search" value={words} onValue={setWords} />
            <p class="quiet" role="status">
              {counted(lanes.length, 'lane')}
              {figures.lanes_total > figures.lanes.length &&
                ` of ${countText(figures.lanes_total)}: the first ${figures.lanes.length} are shown, those in trouble first`}
            </p>
          </search>
          <p class="help">
            In flight: taken up by a worker and not answered yet. Half of the provider’s answers of the last minute came
            within p50, 99 in 100 within p99. The page of a lane says what holds it back.
          </p>
          <Table cards caption="Lanes" rows={lanes} keyOf={({ sender }) => sender} columns={columns(may('runLanes'))} />
        </>
      )}
    </Page>
  )
}

/** Why it does not send, or not more; for whoever points at it, also what a lane without trouble is held back by. */
function State({ lane }: { lane: SnapshotLane }) {
  const { word, tone } = laneWords(lane.state)
  const { means } = boundWords(lane)
  return (
    <>
      <span title={means}>
        <Badge tone={tone}>{word}</Badge>
      </span>
      {lane.reason !== null && (
        <span class="reason">
          <Said text={lane.reason} />
          {lane.until !== null && (
            <>
              , ends <Until at={lane.until} />
            </>
          )}
        </span>
      )}
      {isShortOfRoom(lane) && <span class="reason">{means}</span>}
    </>
  )
}

/** Below its pace, because the one times the other is what is in flight. */
const InFlight = ({ lane }: { lane: SnapshotLane }) =>
  (lane.in_flight > 0 || lane.answer_p50_s !== null) && (
    <span class="reason">
      {countText(lane.in_flight)} in flight
      {lane.answer_p50_s !== null && `, p50 ${answerText(lane.answer_p50_s)}, p99 ${answerText(lane.answer_p99_s)}`}
    </span>
  )

const columns = (mayRun: boolean) => [
  {
    title: 'Lane',
    head: true,
    sort: ({ name, sender }: SnapshotLane) => name || String(sender),
    cell: ({ sender, name }: SnapshotLane) => (
      <a href={`/console/lanes/${sender}`}>
        {sender} <Said text={name} />
      </a>
    ),
  },
  {
    title: 'State',
    sort: ({ state }: SnapshotLane) => laneWords(state).word,
    cell: (lane: SnapshotLane) => <State lane={lane} />,
  },
  { title: 'Waiting', number: true, sort: waitingOf, cell: (lane: SnapshotLane) => countText(waitingOf(lane)) },
  {
    title: 'Transactional',
    number: true,
    sort: ({ waiting }: SnapshotLane) => waiting.transactional,
    wide: true,
    cell: ({ waiting }: SnapshotLane) => countText(waiting.transactional),
  },
  {
    title: 'Campaign',
    number: true,
    wide: true,
    sort: ({ waiting }: SnapshotLane) => waiting.campaign,
    cell: ({ waiting }: SnapshotLane) => countText(waiting.campaign),
  },
  {
    title: 'Oldest',
    number: true,
    sort: ({ oldest_s }: SnapshotLane) => oldest_s ?? -1,
    wide: true,
    cell: ({ oldest_s }: SnapshotLane) => (oldest_s === null ? '–' : spanText(oldest_s)),
  },
  {
    title: 'Pace',
    sort: ({ sent_per_s }: SnapshotLane) => sent_per_s,
    cell: (lane: SnapshotLane) => (
      <>
        <Pace lane={lane} />
        <InFlight lane={lane} />
      </>
    ),
  },
  {
    title: 'Dead letters',
    number: true,
    sort: ({ dead_letters }: SnapshotLane) => dead_letters,
    wide: true,
    cell: ({ sender, dead_letters }: SnapshotLane) =>
      dead_letters === 0 ? '0' : <a href={`/console/lanes/${sender}#dead-letters`}>{countText(dead_letters)}</a>,
  },
  ...(mayRun ? [{ title: 'Action', cell: (lane: SnapshotLane) => <PauseButton lane={lane} /> }] : []),
]
