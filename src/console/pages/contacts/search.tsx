// Looking for people by a part of a name, an email or a number; the address bar keeps it.
import { useState } from 'preact/hooks'
import { TextField } from '../../parts/field.tsx'
import { addressOf } from '../../state/http.ts'
import { go } from '../../state/router.ts'

/** A field and a button; empty, everybody is listed again. */
export function ContactSearch({ words, tag }: { words: string; tag: number | undefined }) {
  const [wanted, setWanted] = useState(words)
  return (
    <search>
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault()
          go(addressOf('/console/contacts', { tag, q: wanted.trim() }))
        }}
      >
        <TextField label="Name, email or number" type="search" value={wanted} onValue={setWanted} />
        <div>
          <button type="submit">Find</button>
        </div>
      </form>
    </search>
  )
}
