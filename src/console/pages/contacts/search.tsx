// Finding one person by number; the address bar keeps it.
import { useState } from 'preact/hooks'
import { TextField } from '../../parts/field.tsx'
import { go } from '../../state/router.ts'

/** A field and a button; empty, everybody is listed again. */
export function ContactSearch({ phone }: { phone: string }) {
  const [words, setWords] = useState(phone)
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          const wanted = words.trim()
          go(wanted === '' ? '/console/contacts' : `/console/contacts?${new URLSearchParams({ phone: wanted })}`)
        }}
      >
        <TextField label="Phone number" type="search" value={words} onValue={setWords} />
        <div>
          <button type="submit">Find</button>
        </div>
      </form>
    </search>
  )
}
