// Creating an account, for operators.
import { useState } from 'preact/hooks'
import { Confirm } from '../parts/dialog.tsx'
import { TextField } from '../parts/field.tsx'
import { say } from '../parts/notices.tsx'
import type { Account } from '../shell/account-switcher.tsx'
import { useOnce } from '../state/act.ts'
import { dataOf } from '../state/http.ts'
import { actFor } from '../state/session.ts'

/** A button that asks for the name; from then on one acts for the new account. */
export function NewAccount() {
  const [asked, setAsked] = useState(false)
  const [name, setName] = useState('')
  const { headersFor, made } = useOnce()
  const act = async (): Promise<void> => {
    const body = { name }
    const { id } = await dataOf<Account>('POST', '/admin/accounts', { body, headers: headersFor(body) })
    made()
    say(`Account ${id} is created. Give it a sender and a key.`)
    setAsked(false)
    actFor(id)
  }
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        New account
      </button>
      {asked && (
        <Confirm title="New account" verb="Create" act={act} onClose={() => setAsked(false)}>
          <p>An account has its own senders, keys, templates, contacts and messages; nobody else sees them.</p>
          <TextField label="Name" value={name} onValue={setName} required />
        </Confirm>
      )}
    </>
  )
}
