// Making a key. It is shown once: only its hash is stored.
import { useState } from 'preact/hooks'
import { instantOf } from '../../logic/message-filters.ts'
import { Copy } from '../../parts/copy.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { dataOf, idempotencyKey } from '../../state/http.ts'
import { PERMISSIONS } from './key.ts'

/** Asks for name, permissions and expiry; then shows the key until it is closed. */
export function NewKey({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [name, setName] = useState('')
  const [expires, setExpires] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [made, setMade] = useState<string>()
  const [once] = useState(idempotencyKey)
  const act = async (): Promise<void> => {
    const expiresAt = instantOf(expires)
    const { key } = await dataOf<{ key: string }>('POST', '/admin/keys', {
      body: { name: name.trim(), permissions: chosen, ...(expiresAt === '' ? {} : { expires_at: expiresAt }) },
      headers: { 'Idempotency-Key': once },
    })
    setMade(key)
    onDone()
  }
  if (made !== undefined) {
    return (
      <Dialog title="The new key" onClose={onClose}>
        <p role="status">Keep it now: it is not shown again.</p>
        <p class="secret">
          <code>{made}</code> <Copy what="key" text={made} />
        </p>
        <div class="actions">
          <button type="button" onClick={onClose}>
            I have kept it
          </button>
        </div>
      </Dialog>
    )
  }
  const flip = (permission: string): void =>
    setChosen(chosen.includes(permission) ? chosen.filter((each) => each !== permission) : [...chosen, permission])
  return (
    <Confirm title="New key" verb="Create the key" ready={chosen.length > 0} act={act} onClose={onClose}>
      <TextField label="Name" value={name} onValue={setName} required help="What it is for, such as: order service." />
      <fieldset>
        <legend>It may</legend>
        {PERMISSIONS.map(([permission, words]) => (
          <label key={permission} class="check">
            <input type="checkbox" checked={chosen.includes(permission)} onChange={() => flip(permission)} />
            <span>
              {words} <code class="quiet">{permission}</code>
            </span>
          </label>
        ))}
      </fieldset>
      <TextField
        label="Expires"
        type="datetime-local"
        value={expires}
        onValue={setExpires}
        help="May stay empty: then it works until it is revoked."
      />
    </Confirm>
  )
}
