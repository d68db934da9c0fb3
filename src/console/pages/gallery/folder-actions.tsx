// Creating and renaming folders, and uploading a file into one.
import { useId, useState } from 'preact/hooks'
import type { FolderJson } from '../../../producer/api/gallery/routes.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say, sayRefusal } from '../../parts/notices.tsx'
import { useOnce } from '../../state/act.ts'
import { call } from '../../state/http.ts'
import { GALLERY } from './lists.ts'

/** A button that asks for the name of a new folder. */
export function NewFolder({ onMade }: { onMade: () => void }) {
  const [asked, setAsked] = useState(false)
  const [name, setName] = useState('')
  const { headersFor, made } = useOnce()
  const act = async (): Promise<void> => {
    const body = { name }
    await call('POST', `${GALLERY}/folders`, { body, headers: headersFor(body) })
    made()
    say(`The folder ${name.trim()} is there.`)
    setAsked(false)
    setName('')
    onMade()
  }
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        New folder
      </button>
      {asked && (
        <Confirm title="New folder" verb="Create" act={act} onClose={() => setAsked(false)}>
          <TextField label="Name" value={name} onValue={setName} required />
        </Confirm>
      )}
    </>
  )
}

/** A button that asks for another name. */
export function RenameFolder({ folder, onDone }: { folder: FolderJson; onDone: () => void }) {
  const [asked, setAsked] = useState(false)
  const [name, setName] = useState(folder.name)
  const act = async (): Promise<void> => {
    await call('PUT', `${GALLERY}/folders/${folder.id}`, { body: { name } })
    say('Renamed.')
    setAsked(false)
    onDone()
  }
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        Rename
      </button>
      {asked && (
        <Confirm title="Rename the folder" verb="Rename" act={act} onClose={() => setAsked(false)}>
          <TextField label="Name" value={name} onValue={setName} required />
        </Confirm>
      )}
    </>
  )
}

/** A field that uploads what is chosen at once. */
export function Upload({ folder, onDone }: { folder: FolderJson; onDone: () => void }) {
  const id = useId()
  const [busy, setBusy] = useState(false)
  const upload = async (file: File | undefined): Promise<void> => {
    if (file === undefined) return
    const form = new FormData()
    form.set('folder_id', String(folder.id))
    form.set('file', file)
    setBusy(true)
    try {
      await call('POST', `${GALLERY}/files`, { body: form })
      say(`${file.name} is uploaded.`)
      onDone()
    } catch (error) {
      sayRefusal(error)
    }
    setBusy(false)
  }
  return (
    <div class="upload">
      <label for={id} class="button primary">
        {busy ? 'Uploading …' : 'Upload a file'}
      </label>
      <input
        id={id}
        class="unseen"
        type="file"
        disabled={busy}
        onChange={({ currentTarget }) => {
          void upload(currentTarget.files?.[0])
          currentTarget.value = ''
        }}
      />
    </div>
  )
}
