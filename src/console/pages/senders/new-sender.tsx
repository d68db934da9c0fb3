// Adding a sender: number, provider, and the token that the provider gave for it.

import { useState } from 'preact/hooks'
import type { SenderDocument as Sender } from '../../../accounts/sender.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { Choice, TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { dataOf, idempotencyKey } from '../../state/http.ts'

const PROVIDERS = [
  ['cloud-api', 'WhatsApp’s Cloud API'],
  ['partner-api', 'a partner'],
] as const

/** Asks for everything that a sender needs. */
export function NewSender({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [number, setNumber] = useState('')
  const [name, setName] = useState('')
  const [provider, setProvider] = useState<string>(PROVIDERS[0][0])
  const [address, setAddress] = useState('')
  const [token, setToken] = useState('')
  const [phoneNumberId, setPhoneNumberId] = useState('')
  const [rate, setRate] = useState('80')
  const [isDefault, setIsDefault] = useState(false)
  const [once] = useState(idempotencyKey)
  const isCloud = provider === 'cloud-api'
  const act = async (): Promise<void> => {
    const { id } = await dataOf<Sender>('POST', '/admin/senders', {
      body: {
        number,
        provider,
        base_url: address,
        token,
        rate: Number(rate),
        default: isDefault,
        ...(name.trim() === '' ? {} : { name: name.trim() }),
        ...(isCloud ? { phone_number_id: phoneNumberId } : {}),
      },
      headers: { 'Idempotency-Key': once },
    })
    say(`Sender ${id} is added; its lane is ${id}.`)
    onClose()
    onDone()
  }
  return (
    <Confirm title="Add a sender" verb="Add the sender" act={act} onClose={onClose}>
      <TextField label="Number" value={number} onValue={setNumber} required placeholder="+44 7700 900123" />
      <TextField label="Name" value={name} onValue={setName} help="Requests may name the sender by it." />
      <Choice label="Reached through" value={provider} onValue={setProvider} options={PROVIDERS} />
      <TextField label="Address" type="url" value={address} onValue={setAddress} required />
      {isCloud && <TextField label="Phone number id" value={phoneNumberId} onValue={setPhoneNumberId} required />}
      <TextField label="Token" type="password" autocomplete="off" value={token} onValue={setToken} required />
      <TextField label="Messages per second" type="number" step="any" value={rate} onValue={setRate} required />
      <label class="check">
        <input type="checkbox" checked={isDefault} onChange={() => setIsDefault(!isDefault)} />
        <span>Sends what names no sender</span>
      </label>
    </Confirm>
  )
}
