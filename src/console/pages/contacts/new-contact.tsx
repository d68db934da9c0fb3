// Adding one person by hand.
import { useState } from 'preact/hooks'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { call, idempotencyKey } from '../../state/http.ts'
import type { Tag } from '../../state/library.ts'

/** Asks for number, name and email; the person is on the list that is open, if one is. */
export function NewContact({
  tag,
  onDone,
  onClose,
}: {
  tag: Tag | undefined
  onDone: () => void
  onClose: () => void
}) {
  const [phone, setPhone] = useState('')
  const [name, setName] = useState('')
  const [email, setEmail] = useState('')
  const [once] = useState(idempotencyKey)
  const act = async (): Promise<void> => {
    await call('POST', '/contacts', {
      body: { phone, name, email: email.trim(), tags: tag ? [tag.id] : [] },
      headers: { 'Idempotency-Key': once },
    })
    say('The contact is there.')
    onClose()
    onDone()
  }
  return (
    <Confirm title="New contact" verb="Create" act={act} onClose={onClose}>
      {tag && (
        <p>
          On the list <Said text={tag.name} />.
        </p>
      )}
      <TextField label="Phone" value={phone} onValue={setPhone} required placeholder="+44 7700 900123" />
      <TextField label="Name" value={name} onValue={setName} />
      <TextField label="Email" type="email" value={email} onValue={setEmail} />
    </Confirm>
  )
}
