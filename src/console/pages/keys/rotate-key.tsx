// A new key in place of an old one, which stays good for a while.
import { useState } from 'preact/hooks'
import type { KeyDocument as Key } from '../../../accounts/permissions.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { Said } from '../../parts/text.tsx'
import { dataOf } from '../../state/http.ts'

const OVERLAPS = [
  ['3600', 'one hour'],
  ['86400', 'one day'],
  ['604800', 'one week'],
  ['0', 'no time at all'],
] as const

/** Asks how long both are good, then shows the new one. */
export function RotateKey({ of: key, onDone, onClose }: { of: Key; onDone: () => void; onClose: () => void }) {
  const [overlap, setOverlap] = useState('86400')
  const [made, setMade] = useState<string | null>()
  if (made !== undefined) return <ShownOnce what="key" secret={made} onClose={onClose} />
  const act = async (): Promise<void> => {
    const body = { overlap_seconds: Number(overlap) }
    setMade((await dataOf<{ key: string | null }>('POST', `/admin/keys/${key.id}/rotate`, { body })).key)
    onDone()
  }
  return (
    <Confirm title={`Rotate ${key.name || key.id}`} verb="Make the new key" danger act={act} onClose={onClose}>
      <p>
        A new key may do what <Said text={key.name || key.id} /> may. Give it to whoever uses the old one in time.
      </p>
      <Choice label="The old one works for" value={overlap} onValue={setOverlap} options={OVERLAPS} />
    </Confirm>
  )
}
