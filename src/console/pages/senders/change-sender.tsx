// Changing a sender: its name, its pace, its token.

import { useState } from 'preact/hooks'
import type { SenderDocument as Sender } from '../../../accounts/sender.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { call } from '../../state/http.ts'

/** Asks for what should differ; an empty token leaves the old one. */
export function ChangeSender({ sender, onDone, onClose }: { sender: Sender; onDone: () => void; onClose: () => void }) {
  const [name, setName] = useState(sender.name ?? '')
  const [rate, setRate] = useState(String(sender.rate))
  const [token, setToken] = useState('')
  const [isDefault, setIsDefault] = useState(sender.default)
  const act = async (): Promise<void> => {
    const body = {
      ...(name.trim() === (sender.name ?? '') ? {} : { name: name.trim() || null }),
      ...(Number(rate) === sender.rate ? {} : { rate: Number(rate) }),
      ...(token === '' ? {} : { token }),
      ...(isDefault && !sender.default ? { default: true } : {}),
    }
    if (Object.keys(body).length > 0) await call('PATCH', `/admin/senders/${sender.id}`, { body })
    say(`Sender ${sender.id} is changed.`)
    onClose()
    onDone()
  }
  return (
    <Confirm title={`Change sender ${sender.id}`} verb="Change" act={act} onClose={onClose}>
      <TextField label="Name" value={name} onValue={setName} />
      <TextField label="Messages per second" type="number" step="any" value={rate} onValue={setRate} required />
      <TextField
        label="New token"
        type="password"
        autocomplete="off"
        value={token}
        onValue={setToken}
        help="May stay empty: then the old one stays. A lane that was paused for its token must be resumed."
      />
      <label class="check">
        <input
          type="checkbox"
          checked={isDefault}
          disabled={sender.default}
          onChange={() => setIsDefault(!isDefault)}
        />
        <span>Sends what names no sender</span>
      </label>
    </Confirm>
  )
}
