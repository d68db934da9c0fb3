// One lane: why it stands as it does, what waits on it, its pace, its dead letters.
import { boundWords, isInTrouble, laneSentence, laneWords } from '../logic/lane-words.ts'
import { countText } from '../logic/numbers.ts'
import { answerText, spanText } from '../logic/spans.ts'
import { Badge } from '../parts/badge.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { SearchLink } from '../parts/search-link.tsx'
import { Said, Until } from '../parts/text.tsx'
import { snapshot } from '../state/live.ts'
import { now } from '../state/now.ts'
import { may } from '../state/session.ts'
import { DeadLetters } from './lane/dead-letters.tsx'
import { Pace } from './lane/pace.tsx'
import { PauseButton } from './lane/pause.tsx'
import { RateButton } from './lane/rate.tsx'
import { History } from './overview/history.tsx'

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
            <p>It may be of another account, or one of many that are well.</p>
          </Empty>
        )}
      </Page>
    )
  }
  const { word, tone } = laneWords(lane.state)
  const held = boundWords(lane)
  return (
    <Page
      title={`Lane ${id} ${lane.name}`}
      above={above}
      badge={<Badge tone={tone}>{word}</Badge>}
      actions={
        may('runLanes') && (
          <>
            <PauseButton lane={lane} />
            <RateButton lane={lane} />
          </>
        )
      }
    >
      <p class={isInTrouble(lane) ? 'held' : ''}>
        <Said text={laneSentence(lane, now.value)} />
        {lane.until !== null && (
          <>
            {' '}
            Ends <Until at={lane.until} />.
          </>
        )}
      </p>
      <dl class="figures">
        <div>
          <dt>Waiting, transactional</dt>
          <dd>{countText(lane.waiting.transactional)}</dd>
        </div>
        <div>
          <dt>Waiting, of campaigns</dt>
          <dd>{countText(lane.waiting.campaign)}</dd>
        </div>
        <div>
          <dt>Oldest waiting</dt>
          <dd>{lane.oldest_s === null ? 'none' : spanText(lane.oldest_s)}</dd>
        </div>
        <div>
          <dt>In flight</dt>
          <dd>{countText(lane.in_flight)}</dd>
        </div>
        <div>
          <dt>Answers, p50</dt>
          <dd>{answerText(lane.answer_p50_s)}</dd>
        </div>
        <div>
          <dt>Answers, p99</dt>
          <dd>{answerText(lane.answer_p99_s)}</dd>
        </div>
        <div>
          <dt>Pace</dt>
          <dd>
            <Pace lane={lane} />
          </dd>
        </div>
      </dl>
      <p>
        Held back by {held.word}. {held.means}
      </p>
      <p class="help">
        In flight: taken up by a worker and not answered yet, about the rate times the answer time. Answers: how long
        the provider takes; half of the last minute’s came within p50, 99 in 100 within p99.
      </p>
      {may('see') && (
        <p>
          <SearchLink filters={{ sender: String(id) }}>All messages of this lane</SearchLink>
        </p>
      )}
      <History sender={id} />
      <DeadLetters lane={lane} />
    </Page>
  )
}
