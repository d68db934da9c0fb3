// Writing down that a person wants no advertising.
import { useState } from 'preact/hooks'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { call, idempotencyKey } from '../../state/http.ts'

/** Asks for whom, unless the page knows. */
export function AddOptOut({ of, onDone, onClose }: { of?: string; onDone: () => void; onClose: () => void }) {
  const [person, setPerson] = useState(of ?? '')
  const [key] = useState(idempotencyKey)
  const act = async (): Promise<void> => {
    await call('POST', '/opt-outs', { body: { person: person.trim() }, headers: { 'Idempotency-Key': key } })
    say('Opted out.')
    onClose()
    onDone()
  }
  return (
    <Confirm title="Add an opt-out" verb="Opt out" ready={person.trim() !== ''} act={act} onClose={onClose}>
      {of === undefined ? (
        <TextField
          label="Number or user id"
          value={person}
          onValue={setPerson}
          required
          placeholder="+44 7700 900155"
        />
      ) : (
        <p>
          <Said text={of} />
        </p>
      )}
      <p>No campaign and no MARKETING template reaches this person from now on, until the opt-out is removed.</p>
    </Confirm>
  )
}
