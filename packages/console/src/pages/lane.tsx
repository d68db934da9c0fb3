// One lane: its state and reason, its backlog, its pace, its dead letters.

import type { ListedMessage } from '../../../../src/messages/lookup/message-schema.ts'
import type { DeadLetter } from '../../../../src/model/lanes/lane-status.ts'
import type { SnapshotLane } from '../../../../src/telemetry/snapshot.ts'
import { boundWords, isInTrouble, laneSentence, laneWords } from '../logic/lane-words.ts'
import { answerText, countText, spanText } from '../logic/numbers.ts'
import { History } from '../parts/chart.tsx'
import { Table } from '../parts/list.tsx'
import { Card, Empty, Figures, Page, WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { Badge, EndsIn, Said, SearchLink, sentence } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { actingHeadersFor, dataOf } from '../state/http.ts'
import { now, snapshot } from '../state/live.ts'
import { may } from '../state/session.ts'
import { changeRate, nameOf, Pace, pauseOrResume, pauseVerb } from './lanes.tsx'

/** The page of the lane of a sender. */
export function Lane({ id }: { id: number }) {
  const figures = snapshot.value
  const lane = figures?.lanes.find(({ sender }) => sender === id)
  const above = <a href="/console/lanes">Lanes</a>
  if (lane === undefined) {
    return (
      <Page title={`Lane ${id}`} above={above}>
        {figures === undefined ? (
          <p class="quiet">Waiting for the first figures …</p>
        ) : (
          <Empty title="This lane is not among those that are shown.">
            It may be of another account, or one of many without trouble.
          </Empty>
        )}
      </Page>
    )
  }
  const { word, tone } = laneWords(lane.state)
  const held = boundWords(lane)
  const actions = may('controlLanes') && (
    <>
      <Button of={`${pauseVerb(lane)} ${nameOf(lane)}`} press={() => pauseOrResume(lane)}>
        {pauseVerb(lane)}
      </Button>
      <Button press={() => changeRate(lane)}>Change rate</Button>
    </>
  )
  return (
    <Page title={`Lane ${id} ${lane.name}`} above={above} badge={<Badge tone={tone}>{word}</Badge>} actions={actions}>
      <p class={isInTrouble(lane) ? 'held' : ''}>
        <Said text={laneSentence(lane, now.value)} />
        <EndsIn at={lane.until} />
      </p>
      {lane.campaigns_wait !== null && lane.state !== 'resting' && (
        <p class="held">
          Campaigns rest: <Said text={lane.campaigns_wait.sentence} />
          <EndsIn at={lane.campaigns_wait.until} />
        </p>
      )}
      <Figures
        of={[
          { name: 'Waiting, transactional', value: countText(lane.waiting.transactional) },
          { name: 'Waiting, of campaigns', value: countText(lane.waiting.campaign) },
          { name: 'Oldest waiting', value: lane.oldest_s === null ? 'none' : spanText(lane.oldest_s) },
          { name: 'In flight', value: countText(lane.in_flight) },
          { name: 'Answers, p50', value: answerText(lane.answer_p50_s) },
          { name: 'Answers, p99', value: answerText(lane.answer_p99_s) },
          { name: 'Pace', value: <Pace lane={lane} /> },
        ]}
      />
      {sentence`Held back by ${held.word}. ${held.means}`}
      <p class="help">
        In flight: claimed by a worker and not answered yet, about the rate times the answer time. p50: half of the
        provider’s answers of the last minute came within this time; p99: 99 in 100 of them did.
      </p>
      {may('viewMessages') && (
        <p>
          <SearchLink filters={{ sender: String(id) }}>All messages of this lane</SearchLink>
        </p>
      )}
      <History sender={id} />
      <DeadLetters lane={lane} />
    </Page>
  )
}

/** The latest dead letters: from the lane if the key may control it, else from the messages. */
async function latest({ sender, account }: SnapshotLane, signal: AbortSignal): Promise<DeadLetter[]> {
  const limit = 20
  if (may('controlLanes')) {
    const how = { query: { limit }, headers: actingHeadersFor(account), signal }
    return dataOf('GET', `/admin/lanes/${sender}/dead-letters`, how)
  }
  const query = { limit, sender, code: 'dead_letter' }
  const found = await dataOf<ListedMessage[]>('GET', '/messages', { query, signal })
  return found.map(({ id, accepted_at, problem }) => ({ id, failed_at: accepted_at, reason: problem?.sentence ?? '' }))
}

/** Jobs that could not be processed, with their reasons. */
function DeadLetters({ lane }: { lane: SnapshotLane }) {
  const { sender, dead_letters: count } = lane
  const mayList = may('controlLanes') || may('viewMessages')
  const loaded = useLoad(count > 0 && mayList ? `dead ${sender} ${count}` : undefined, (signal) => latest(lane, signal))
  return (
    <Card id="dead-letters" title={`Dead letters: ${countText(count)}`}>
      {count === 0 ? (
        <p>None. A job that could not be processed would be kept here with its reason.</p>
      ) : (
        <p>These jobs could not be processed. Once the cause is gone, requeue sends them.</p>
      )}
      {count > 0 && mayList && (
        <WhenLoaded loaded={loaded} age>
          {(rows) => (
            <Table
              caption="Dead letters"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Message',
                  head: true,
                  cell: ({ id }) => (may('viewMessage') ? <a href={`/console/messages/${id}`}>{id}</a> : id),
                },
                { title: 'When', at: ({ failed_at }) => failed_at },
                { title: 'Reason', text: ({ reason }) => reason },
              ]}
            />
          )}
        </WhenLoaded>
      )}
      {count > 0 && may('viewMessages') && (
        <p>
          <SearchLink filters={{ sender: String(sender), code: 'dead_letter' }}>All of them, to requeue</SearchLink>
        </p>
      )}
    </Card>
  )
}
