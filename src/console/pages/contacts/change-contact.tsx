// Changing and deleting one person.
import { useState } from 'preact/hooks'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { call } from '../../state/http.ts'
import type { Contact } from '../../state/library.ts'

interface Props {
  contact: Contact
  onDone: () => void
  onClose: () => void
}

/** Asks for another name or address. */
export function ChangeContact({ contact, onDone, onClose }: Props) {
  const [name, setName] = useState(contact.name ?? '')
  const [email, setEmail] = useState(contact.email ?? '')
  const act = async (): Promise<void> => {
    const body = { name: name.trim() || null, email: email.trim() || null }
    await call('PATCH', `/contacts/${contact.id}`, { body })
    say('Changed.')
    onClose()
    onDone()
  }
  return (
    <Confirm title={`Change ${contact.name ?? contact.phone}`} verb="Change" act={act} onClose={onClose}>
      <TextField label="Name" value={name} onValue={setName} />
      <TextField label="Email" type="email" value={email} onValue={setEmail} />
    </Confirm>
  )
}

/** Says what goes and what stays, and asks. */
export function DeleteContact({ contact, onDone, onClose }: Props) {
  const act = async (): Promise<void> => {
    await call('DELETE', `/contacts/${contact.id}`)
    say('Deleted.')
    onClose()
    onDone()
  }
  return (
    <Confirm
      title={`Delete ${contact.name ?? contact.phone}`}
      verb="Delete the contact"
      danger
      act={act}
      onClose={onClose}
    >
      <p>
        <Said text={contact.name ?? ''} /> <Said text={contact.phone} /> is taken off every list. Messages that were
        sent stay on record.
      </p>
    </Confirm>
  )
}
