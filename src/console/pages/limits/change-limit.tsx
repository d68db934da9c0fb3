// Another limit for one account, by an operator.
import { useState } from 'preact/hooks'
import type { LimitInForce } from '../../../producer/limits-in-force.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { actingFor, call } from '../../state/http.ts'
import { limitWords } from './words.ts'

/** A button. */
export function ChangeLimit({ of, onDone }: { of: LimitInForce; onDone: () => void }) {
  const [asked, setAsked] = useState(false)
  const [most, setMost] = useState('')
  const account = actingFor.value
  const { name, unit } = limitWords(of.limit)
  const act = async (): Promise<void> => {
    const value = most.trim() === '' ? null : Number(most)
    await call('PATCH', `/admin/accounts/${account}`, { body: { [of.limit]: value } })
    say(`${name}: changed. It is in force within two seconds.`)
    setAsked(false)
    onDone()
  }
  return (
    <>
      <button type="button" aria-label={`Change ${name}`} onClick={() => setAsked(true)}>
        Change
      </button>
      {asked && (
        <Confirm title={name} verb="Change the limit" act={act} onClose={() => setAsked(false)}>
          <TextField
            label={unit === 'bytes' ? 'Bytes' : unit === 'per second' ? 'Requests a second' : 'At most'}
            type="number"
            min="0"
            step="1"
            value={most}
            onValue={setMost}
            help="0 is no limit; empty is the limit of the installation."
          />
        </Confirm>
      )}
    </>
  )
}
