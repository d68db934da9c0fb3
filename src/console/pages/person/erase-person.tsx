// Forgetting a person. There is no way back, so that whoever presses the button types whom it is about.
import { useEffect, useState } from 'preact/hooks'
import type { z } from 'zod'
import type { erasureSchema } from '../../../producer/api/people/routes.ts'
import { counted } from '../../logic/numbers.ts'
import { Badge } from '../../parts/badge.tsx'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { Shown } from '../../parts/page.tsx'
import { Said } from '../../parts/text.tsx'
import { dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import type { Kept } from './kept.tsx'

type Erasure = z.infer<typeof erasureSchema>
const EVERY_MS = 1_000

const bare = (text: string): string => text.replace(/[\s+().-]/g, '')

/** Says what goes, asks for the number or id again, and starts it. */
export function ErasePerson({
  kept,
  onJob,
  onClose,
}: {
  kept: Kept
  onJob: (job: string) => void
  onClose: () => void
}) {
  const { person, contact, messages, campaigns } = kept
  const [typed, setTyped] = useState('')
  const act = async (): Promise<void> => {
    const { job_id } = await dataOf<{ job_id: string }>('DELETE', `/admin/people/${encodeURIComponent(person)}`)
    onJob(job_id)
    onClose()
  }
  return (
    <Confirm
      title="Erase a person"
      verb="Erase for good"
      danger
      ready={bare(typed) === bare(person)}
      act={act}
      onClose={onClose}
    >
      <p>
        Forgotten are {contact === null ? 'no contact' : 'the contact'}, the number and text of{' '}
        {counted(messages.length, 'message')}, and the lines of {counted(campaigns.length, 'campaign')}. What waits to
        be sent to <Said text={person} /> is cancelled. Figures stay as they are. There is no way back.
      </p>
      <TextField label="The number or user id once more" value={typed} onValue={setTyped} required autocomplete="off" />
    </Confirm>
  )
}

/** How far an erasure is, and in the end what it has forgotten. */
export function Erased({ job, onDone }: { job: string; onDone: () => void }) {
  const [ended, setEnded] = useState(false)
  const loaded = useLoad<Erasure>(
    `erasure ${job}`,
    (signal) => dataOf('GET', `/jobs/${job}`, { signal }),
    ended ? undefined : EVERY_MS,
  )
  const state = loaded.value?.state
  useEffect(() => {
    if (state !== 'done' && state !== 'failed') return
    setEnded(true)
    onDone()
  }, [state])
  return (
    <Shown loaded={loaded}>
      {({ state, contacts, messages, received, recipients }) => (
        <p role="status">
          <Badge tone={state === 'done' ? 'good' : state === 'failed' ? 'bad' : 'busy'}>
            {state === 'done' ? 'erased' : state === 'failed' ? 'failed' : 'being erased'}
          </Badge>{' '}
          {counted(contacts, 'contact')}, {counted(messages, 'message')} sent, {counted(received, 'message')} received,{' '}
          {counted(recipients, 'line')} of campaigns.
          {state === 'failed' && ' The log of the worker says why. Erase again to have it tried again.'}
        </p>
      )}
    </Shown>
  )
}
