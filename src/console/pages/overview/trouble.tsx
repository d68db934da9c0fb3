// Lanes that do not send although something could be done, each with why.

import type { SnapshotLane } from '../../../telemetry/snapshot.ts'
import { laneSentence, laneWords, waitingOf } from '../../logic/lane-words.ts'
import { counted, countText } from '../../logic/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { Said, Until } from '../../parts/text.tsx'
import { now } from '../../state/now.ts'
import { may } from '../../state/session.ts'

/** More are on the page of lanes. */
const MOST = 8

/** What stands still, or that nothing does. */
export function Trouble({ lanes, total }: { lanes: readonly SnapshotLane[]; total: number }) {
  if (total === 0) {
    return (
      <section class="card" aria-labelledby="trouble">
        <h2 id="trouble">Lanes</h2>
        <p>
          There is no sender yet, so nothing can be sent. {may('run') && <a href="/console/senders">Add a sender</a>}
        </p>
      </section>
    )
  }
  if (lanes.length === 0) {
    return (
      <section class="card calm" aria-labelledby="trouble">
        <h2 id="trouble">Lanes</h2>
        <p>
          <Badge tone="good">{total === 1 ? 'The lane is well' : `All ${countText(total)} lanes are well`}</Badge>{' '}
          Nothing stands still. <a href="/console/lanes">See the lanes</a>
        </p>
      </section>
    )
  }
  return (
    <section class="card trouble" aria-labelledby="trouble">
      <h2 id="trouble">{counted(lanes.length, 'lane that does not send', 'lanes that do not send')}</h2>
      <ul class="plain">
        {lanes.slice(0, MOST).map((lane) => {
          const { word, tone } = laneWords(lane.state)
          return (
            <li key={lane.sender}>
              <Badge tone={tone}>{word}</Badge>{' '}
              <a href={`/console/lanes/${lane.sender}`}>
                {lane.sender} <Said text={lane.name} />
              </a>
              : <Said text={laneSentence(lane, now.value)} />
              {lane.until !== null && (
                <>
                  {' '}
                  Ends <Until at={lane.until} />.
                </>
              )}
              {waitingOf(lane) > 0 &&
                lane.drain_s === null &&
                ` ${counted(waitingOf(lane), 'message waits', 'messages wait')}.`}
            </li>
          )
        })}
      </ul>
      {lanes.length > MOST && (
        <p>
          <a href="/console/lanes">All {countText(lanes.length)}</a>
        </p>
      )}
    </section>
  )
}
