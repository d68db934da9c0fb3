// Taking a person off the list of those who want no advertising.
import { Confirm } from '../../parts/dialog.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { call } from '../../state/http.ts'

/** Says what follows, and asks. */
export function RemoveOptOut({ person, onDone, onClose }: { person: string; onDone: () => void; onClose: () => void }) {
  const act = async (): Promise<void> => {
    await call('DELETE', `/opt-outs/${encodeURIComponent(person)}`)
    say('The opt-out is removed.')
    onClose()
    onDone()
  }
  return (
    <Confirm title="Remove an opt-out" verb="Remove the opt-out" danger act={act} onClose={onClose}>
      <p>
        Campaigns that are checked or sent from now on reach <Said text={person} /> again. Do it only if this person has
        asked for it.
      </p>
    </Confirm>
  )
}
