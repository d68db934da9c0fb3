// Saving all that is kept of a person as one file, to be handed to them.
import { useState } from 'preact/hooks'
import { sayRefusal } from '../../parts/notices.tsx'
import { download } from '../../state/download.ts'

/** The button; the file is the answer of `GET /admin/people/{person}`. Its name tells of nobody. */
export function SavePerson({ person }: { person: string }) {
  const [busy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    try {
      await download(`/admin/people/${encodeURIComponent(person)}`, 'person.json')
    } catch (error) {
      sayRefusal(error)
    }
    setBusy(false)
  }
  return (
    <button type="button" aria-disabled={busy} onClick={save}>
      {busy ? 'Saving …' : 'Save as a file'}
    </button>
  )
}
