// One message: where it stands, why it waits, and everything that happened to it.
import { useEffect, useState } from 'preact/hooks'
import type { ReceivedMessage, SentMessage } from '../../messages/lookup/message-schema.ts'
import { problemText } from '../logic/problem-words.ts'
import { MessageState } from '../parts/badge.tsx'
import { Age, Page, Shown } from '../parts/page.tsx'
import { Said } from '../parts/text.tsx'
import { Waits } from '../parts/waits.tsx'
import { dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { may } from '../state/session.ts'
import { MessageActions } from './message/actions.tsx'
import { Conversation } from './message/conversation.tsx'
import { MessageFacts } from './message/facts.tsx'
import { Timeline } from './message/timeline.tsx'
import { personOf } from './messages/message-table.tsx'

type Message = SentMessage | ReceivedMessage

const EVERY_MS = 2_000
/** States that change by themselves within moments. */
const MOVING = ['queued', 'sending', 'unconfirmed', 'sent']

/** Follows it while it can change by itself. */
export function MessagePage({ id }: { id: string }) {
  const [moving, setMoving] = useState(true)
  const loaded = useLoad<Message>(
    `message ${id}`,
    (signal) => dataOf('GET', `/messages/${encodeURIComponent(id)}`, { signal }),
    moving ? EVERY_MS : undefined,
  )
  const message = loaded.value
  const moves = message === undefined || MOVING.includes(message.state)
  useEffect(() => setMoving(moves), [moves])
  return (
    <Page
      title="Message"
      above={<a href="/console/messages">Messages</a>}
      badge={message && <MessageState state={message.state} direction={message.direction} />}
      actions={
        message?.direction === 'outbound' && may('send') && <MessageActions message={message} onChange={loaded.put} />
      }
    >
      <p class="mono">
        <Said text={id} />
      </p>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {(found) => (
          <>
            {found.possible_duplicate && (
              <p class="held">
                ! It was sent again although an earlier attempt may have reached the person: a possible duplicate.
              </p>
            )}
            {found.problem && (
              <p class="problem">
                <Said text={problemText(found.problem)} />
              </p>
            )}
            <Waits id={id} waits={found.waits} />
            <div class="halves">
              <Timeline history={found.history} />
              <div class="stack">
                <MessageFacts message={found} />
                {found.sender !== null && <Conversation person={personOf(found)} sender={found.sender} />}
              </div>
            </div>
          </>
        )}
      </Shown>
    </Page>
  )
}
