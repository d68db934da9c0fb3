// Cancelling a message that waits, and sending one again that has ended.
import { useState } from 'preact/hooks'
import type { SentMessage } from '../../../messages/lookup/message-schema.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { dataOf } from '../../state/http.ts'

const REQUEUEABLE = ['failed', 'unknown', 'expired', 'cancelled']
/** Ended without proof that nobody has got it. */
const MAY_HAVE_ARRIVED = ['unknown']

/** The one action that the message's state allows, or none. */
export function MessageActions({
  message,
  onChange,
}: {
  message: SentMessage
  onChange: (changed: SentMessage) => void
}) {
  const [asked, setAsked] = useState(false)
  const { state } = message
  const verb = state === 'queued' ? 'cancel' : REQUEUEABLE.includes(state) ? 'requeue' : undefined
  if (verb === undefined) return null
  const title = verb === 'cancel' ? 'Cancel this message' : 'Send this message again'
  const act = async (): Promise<void> => {
    onChange(await dataOf<SentMessage>('POST', `/messages/${message.id}/${verb}`))
    say(verb === 'cancel' ? 'The message is cancelled.' : 'The message is queued again.')
    setAsked(false)
  }
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        {verb === 'cancel' ? 'Cancel' : 'Send again'}
      </button>
      {asked && (
        <Confirm title={title} verb={title} danger act={act} onClose={() => setAsked(false)}>
          <p>
            To <Said text={message.to} />: <Said text={message.text} />
          </p>
          {verb === 'cancel' ? (
            <p>It is never sent, unless somebody sends it again.</p>
          ) : (
            <p>
              It goes back to its lane with a new validity.
              {MAY_HAVE_ARRIVED.includes(state) &&
                ' Nobody knows whether the first one arrived: the person may get it twice, and it is marked as a possible duplicate.'}
            </p>
          )}
        </Confirm>
      )}
    </>
  )
}
