// The lanes: backlog, state and pace of each; and the actions on a lane.
import { useState } from 'preact/hooks'
import { isShortOfRoom } from '../../../../src/telemetry/lane-bound.ts'
import type { SnapshotLane } from '../../../../src/telemetry/snapshot.ts'
import { boundWords, laneWords, pauseText, waitingOf } from '../logic/lane-words.ts'
import { answerText, counted, countText, rateText, spanText } from '../logic/numbers.ts'
import { Field, nonEmpty } from '../parts/fields.tsx'
import { ask, thenNotify } from '../parts/form.tsx'
import { Table } from '../parts/list.tsx'
import { Empty, Live, Page } from '../parts/page.tsx'
import { Badge, Gauge, LaneLink, Said, Spark, sentence, Until, words } from '../parts/text.tsx'
import { actingHeadersFor, call } from '../state/http.ts'
import { may } from '../state/session.ts'

/** The table of lanes. The server sorts those in trouble to the top. */
export function Lanes() {
  const [typed, setTyped] = useState('')
  const wanted = typed.trim().toLowerCase()
  return (
    <Page title="Lanes">
      <Live>
        {({ lanes, lanes_total: total }) => {
          if (total === 0) {
            return (
              <Empty title="No lane yet.">
                Each sender has a lane of its own. {may('administer') && <a href="/console/senders">Add a sender</a>}
              </Empty>
            )
          }
          const found = lanes.filter(({ sender, name }) => `${sender} ${name}`.toLowerCase().includes(wanted))
          return (
            <>
              <search class="filters">
                <Field label="Find a sender" kind="search" value={typed} onValue={setTyped} />
                <p class="quiet" role="status">
                  {counted(found.length, 'lane')}
                  {total > lanes.length &&
                    ` of ${countText(total)}: the first ${lanes.length} are shown, those in trouble first`}
                </p>
              </search>
              <p class="help">
                In flight: claimed by a worker and not answered yet. p50: half of the provider’s answers of the last
                minute came within this time; p99: 99 in 100 of them did. The page of a lane shows what holds it back.
              </p>
              <LaneTable rows={found} />
            </>
          )
        }}
      </Live>
    </Page>
  )
}

const LaneTable = ({ rows }: { rows: readonly SnapshotLane[] }) => (
  <Table
    cards
    caption="Lanes"
    rows={rows}
    keyOf={({ sender }) => sender}
    columns={[
      {
        title: 'Lane',
        head: true,
        sort: ({ name, sender }) => name || String(sender),
        cell: LaneLink,
      },
      { title: 'State', sort: ({ state }) => laneWords(state).word, cell: State },
      { title: 'Waiting', count: waitingOf, sort: true },
      { title: 'Transactional', wide: true, count: ({ waiting }) => waiting.transactional, sort: true },
      { title: 'Campaign', wide: true, count: ({ waiting }) => waiting.campaign, sort: true },
      {
        title: 'Oldest',
        number: true,
        wide: true,
        sort: ({ oldest_s }) => oldest_s ?? -1,
        cell: ({ oldest_s }) => spanText(oldest_s),
      },
      {
        title: 'Pace',
        sort: ({ sent_per_s }) => sent_per_s,
        cell: (lane) => (
          <>
            <Pace lane={lane} />
            <InFlight {...lane} />
          </>
        ),
      },
      {
        title: 'Dead letters',
        number: true,
        wide: true,
        sort: ({ dead_letters }) => dead_letters,
        cell: ({ sender, dead_letters }) =>
          dead_letters === 0 ? '0' : <a href={`/console/lanes/${sender}#dead-letters`}>{countText(dead_letters)}</a>,
      },
    ]}
    actions={may('controlLanes') && ((lane) => [[pauseVerb(lane), nameOf(lane), () => pauseOrResume(lane)]])}
  />
)

/** The state and its reason. On hover: what holds the lane back, for any lane. */
function State(lane: SnapshotLane) {
  const { word, tone } = laneWords(lane.state)
  const { means } = boundWords(lane)
  return (
    <>
      <span title={means}>
        <Badge tone={tone}>{word}</Badge>
      </span>
      {(lane.reason ?? lane.since) !== null && (
        <span class="reason">
          <Said text={[lane.reason, pauseText(lane)].filter(Boolean).join(', ')} />
          {lane.until !== null && words`, ends ${<Until at={lane.until} />}`}
        </span>
      )}
      {isShortOfRoom(lane) && <span class="reason">{means}</span>}
    </>
  )
}

/** `12.5 of 80/s`, with a bar and a line for the last half minute. */
export const Pace = ({ lane: { sender, sent_per_s, rate_per_s, spark } }: { lane: SnapshotLane }) => (
  <span class="pace">
    <span class="number">
      {rateText(sent_per_s)} of {rateText(rate_per_s)}/s
    </span>
    <Gauge label={`Pace used by lane ${sender}`} value={sent_per_s} most={rate_per_s} />
    <Spark points={spark} most={rate_per_s} />
  </span>
)

/** Messages in flight: about the pace times the answer time. */
const InFlight = ({ in_flight, answer_p50_s, answer_p99_s }: SnapshotLane) =>
  (in_flight > 0 || answer_p50_s !== null) && (
    <span class="reason">
      {countText(in_flight)} in flight
      {answer_p50_s !== null && `, p50 ${answerText(answer_p50_s)}, p99 ${answerText(answer_p99_s)}`}
    </span>
  )

/** The name of a lane in sentences. */
export const nameOf = ({ sender, name }: SnapshotLane): string =>
  name === '' ? `lane ${sender}` : `lane ${sender}, ${name}`
const waitText = (lane: SnapshotLane): string => counted(waitingOf(lane), 'message waits', 'messages wait')

/** The action that fits the state of the lane. */
export const pauseVerb = ({ state }: SnapshotLane): string =>
  state === 'paused' ? 'Resume' : state === 'cooldown' ? 'End cooldown' : 'Pause'
/** Asks, then does that action. */
export const pauseOrResume = (lane: SnapshotLane): void =>
  pauseVerb(lane) === 'Pause' ? pause(lane) : resume(lane, pauseVerb(lane))

const order = (lane: SnapshotLane, what: 'pause' | 'resume' | 'rate', body: object): Promise<unknown> =>
  call('POST', `/admin/lanes/${lane.sender}/${what}`, { body, headers: actingHeadersFor(lane.account) })

const pause = (lane: SnapshotLane): void =>
  ask({
    title: `Pause ${nameOf(lane)}`,
    verb: 'Pause the lane',
    danger: true,
    text: sentence`Nothing more leaves ${nameOf(lane)} but what is in flight (${lane.in_flight}). ${waitText(lane)} there;
      new ones are accepted and wait as well.`,
    fields: { reason: { label: 'Reason, for your colleagues' } },
    act: (values) => thenNotify(order(lane, 'pause', nonEmpty(values)), `Lane ${lane.sender} is paused.`),
  })

const resume = (lane: SnapshotLane, verb: string): void =>
  ask({
    title: `${verb}: ${nameOf(lane)}`,
    verb,
    text: (
      <>
        {sentence`${waitText(lane)} and will leave at up to ${lane.rate_per_s} per second.`}
        {lane.reason !== null && sentence`It is stopped because: ${lane.reason}`}
        {lane.state === 'cooldown' && sentence`If what began the cooldown still holds, the provider will refuse again.`}
      </>
    ),
    act: () => thenNotify(order(lane, 'resume', {}), `Lane ${lane.sender} is resumed; ${waitText(lane)}.`),
  })

/** Asks for a new rate in messages per second. */
export const changeRate = (lane: SnapshotLane): void =>
  ask({
    title: `Rate of lane ${lane.sender}`,
    verb: 'Change the rate',
    text: sentence`Now ${rateText(lane.rate_per_s)} per second; ${waitText(lane)}.`,
    fields: {
      rate: {
        kind: 'number',
        label: 'Messages per second',
        step: 'any',
        value: String(lane.rate_per_s),
        required: true,
        help: 'In force at once. More than the provider grants to the number leads to cooldowns.',
      },
    },
    act: ({ rate }) =>
      thenNotify(
        order(lane, 'rate', { rate: Number(rate) }),
        `Lane ${lane.sender} may send ${rateText(Number(rate))} per second.`,
      ),
  })
