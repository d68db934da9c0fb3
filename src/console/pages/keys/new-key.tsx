// Making a key. It is shown once: only its hash is stored.
import { useState } from 'preact/hooks'
import { instantOf } from '../../logic/message-filters.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { Check, TextField } from '../../parts/field.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { actingFor, dataOf, idempotencyKey, isOperator } from '../../state/http.ts'

/** What a key may be allowed, with what that is for. */
const PERMISSIONS: readonly (readonly [string, string])[] = [
  ['messages:send', 'send messages and run campaigns'],
  ['messages:read', 'look messages and campaigns up'],
  ['contacts:read', 'read contact lists'],
  ['contacts:write', 'change contact lists'],
  ['gallery', 'files of the gallery'],
  ['gallery:system', 'rename system folders'],
  ['events', 'be told what happens, and say who is told'],
  ['admin', 'everything in this account: lanes, senders, keys, templates, and all of the above'],
]
/** For an operator that acts for no account: another key like its own. */
const OF_NO_ACCOUNT: typeof PERMISSIONS = [['operator', 'everything, in all accounts']]

const listOf = (text: string): string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** Asks for name, permissions, expiry and bounds; then shows the key until it is closed. */
export function NewKey({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [name, setName] = useState('')
  const [expires, setExpires] = useState('')
  const [senders, setSenders] = useState('')
  const [addresses, setAddresses] = useState('')
  const [chosen, setChosen] = useState<readonly string[]>([])
  const [made, setMade] = useState<string | null>()
  const [once] = useState(idempotencyKey)
  const offered = isOperator.value && actingFor.value === undefined ? OF_NO_ACCOUNT : PERMISSIONS
  const act = async (): Promise<void> => {
    const expiresAt = instantOf(expires)
    const { key } = await dataOf<{ key: string | null }>('POST', '/admin/keys', {
      body: {
        name: name.trim(),
        permissions: chosen,
        ...(senders.trim() === '' ? {} : { senders: listOf(senders) }),
        ...(addresses.trim() === '' ? {} : { addresses: listOf(addresses) }),
        ...(expiresAt === '' ? {} : { expires_at: expiresAt }),
      },
      headers: { 'Idempotency-Key': once },
    })
    setMade(key)
    onDone()
  }
  if (made !== undefined) {
    return <ShownOnce what="key" secret={made} onClose={onClose} />
  }
  const flip = (permission: string): void =>
    setChosen(chosen.includes(permission) ? chosen.filter((each) => each !== permission) : [...chosen, permission])
  return (
    <Confirm title="New key" verb="Create the key" ready={chosen.length > 0} act={act} onClose={onClose}>
      <TextField label="Name" value={name} onValue={setName} required help="What it is for, such as: order service." />
      <fieldset>
        <legend>It may</legend>
        {offered.map(([permission, words]) => (
          <Check key={permission} checked={chosen.includes(permission)} onFlip={() => flip(permission)}>
            {words} <code class="quiet">{permission}</code>
          </Check>
        ))}
      </fieldset>
      <TextField
        label="Expires"
        type="datetime-local"
        value={expires}
        onValue={setExpires}
        help="May stay empty: then it works until it is revoked."
      />
      <details>
        <summary>Only for some senders, or from some networks</summary>
        <TextField
          label="Senders"
          value={senders}
          onValue={setSenders}
          placeholder="+44 7700 900001, shop"
          help="By number, name or id. Empty: all."
        />
        <TextField
          label="Networks"
          value={addresses}
          onValue={setAddresses}
          placeholder="10.0.0.0/8, 192.0.2.7"
          help="Where it may be used from. Empty: anywhere."
        />
      </details>
    </Confirm>
  )
}
