// Creating a list of contacts.
import { useState } from 'preact/hooks'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { useOnce } from '../../state/act.ts'
import { call } from '../../state/http.ts'
import { go } from '../../state/router.ts'

/** A button that asks for the name, and leads to the new list. */
export function NewList({ onMade }: { onMade: () => void }) {
  const [asked, setAsked] = useState(false)
  const [name, setName] = useState('')
  const { headersFor, made } = useOnce()
  const act = async (): Promise<void> => {
    const body = { name }
    const { tagId } = await call<{ tagId: number }>('POST', '/partners/broadcast/addnewcontacttag', {
      body,
      headers: { 'X-Requested-With': 'XMLHttpRequest', ...headersFor(body) },
    })
    made()
    say(`The list ${name.trim()} is there.`)
    setAsked(false)
    setName('')
    onMade()
    go(`/console/contacts?tag=${tagId}`)
  }
  return (
    <>
      <button type="button" class="primary" onClick={() => setAsked(true)}>
        New list
      </button>
      {asked && (
        <Confirm title="New list" verb="Create" act={act} onClose={() => setAsked(false)}>
          <TextField label="Name" value={name} onValue={setName} required />
        </Confirm>
      )}
    </>
  )
}
