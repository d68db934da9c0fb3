// A message that was just sent, followed until it has arrived.
import { useEffect, useState } from 'preact/hooks'
import type { SentMessage } from '../../../messages/lookup/message-schema.ts'
import { MessageState } from '../../parts/badge.tsx'
import { Shown } from '../../parts/page.tsx'
import { Said } from '../../parts/text.tsx'
import { dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { Timeline } from '../message/timeline.tsx'

const POLL_MS = 400
const SLOW_MS = 5_000
const OVER = ['delivered', 'read', 'failed', 'expired', 'cancelled', 'unknown']

/** Its state, in words and as a timeline. */
export function Journey({ id }: { id: string }) {
  const [every, setEvery] = useState(POLL_MS)
  const loaded = useLoad<SentMessage>(`journey ${id}`, (signal) => dataOf('GET', `/messages/${id}`, { signal }), every)
  const over = OVER.includes(loaded.value?.state ?? '')
  useEffect(() => setEvery(over ? SLOW_MS : POLL_MS), [over])
  return (
    <Shown loaded={loaded}>
      {(message) => (
        <>
          <p role="status">
            <MessageState state={message.state} />{' '}
            {message.state === 'delivered' || message.state === 'read' ? 'It has arrived. ' : ''}
            {message.problem && <Said text={`${message.problem.sentence} `} />}
            {message.waits && <Said text={`${message.waits.sentence} `} />}
            <a href={`/console/messages/${id}`}>See the message</a>
          </p>
          <Timeline history={message.history} />
        </>
      )}
    </Shown>
  )
}
