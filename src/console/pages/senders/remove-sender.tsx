// Removing a sender, which the server allows once nothing of it is left to be done.
import type { SenderDocument as Sender } from '../../../accounts/sender.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { call } from '../../state/http.ts'

/** Says what is lost, and asks. */
export function RemoveSender({ sender, onDone, onClose }: { sender: Sender; onDone: () => void; onClose: () => void }) {
  const act = async (): Promise<void> => {
    await call('DELETE', `/admin/senders/${sender.id}`)
    say(`Sender ${sender.id} is removed.`)
    onClose()
    onDone()
  }
  return (
    <Confirm title={`Remove sender ${sender.id}`} verb="Remove the sender" danger act={act} onClose={onClose}>
      <p>
        <Said text={sender.name || sender.number} /> sends nothing any more, and its token is forgotten. It is refused
        as long as messages wait on its lane. What was sent stays on record.
      </p>
    </Confirm>
  )
}
