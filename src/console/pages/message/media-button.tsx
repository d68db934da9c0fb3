// Saving the file of a received message. It comes from the chat product and is never shown in the page.
import { useState } from 'preact/hooks'
import { sayRefusal } from '../../parts/notices.tsx'
import { download } from '../../state/download.ts'

/** `name` is what it is saved as. */
export function MediaButton({ id, name }: { id: string; name: string }) {
  const [busy, setBusy] = useState(false)
  const save = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    await download(`/messages/${encodeURIComponent(id)}/media`, name).catch(sayRefusal)
    setBusy(false)
  }
  return (
    <button type="button" aria-disabled={busy} onClick={() => void save()}>
      {busy ? 'Fetching …' : 'Save the file'}
    </button>
  )
}
