// Importing templates from a file in the chat product's own format, or pasted.
import { useState } from 'preact/hooks'
import { counted } from '../../logic/numbers.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextArea } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { call, Refused } from '../../state/http.ts'

/** One definition, a list of them, or the chat product's answer with `data`. */
function definitionsOf(text: string): unknown[] {
  try {
    const read: unknown = JSON.parse(text)
    if (Array.isArray(read)) return read
    if (typeof read === 'object' && read !== null && 'data' in read && Array.isArray(read.data)) return read.data
    return [read]
  } catch {
    throw new Refused(0, 'no_json', 'This is no JSON. Paste one definition, or a list of them.')
  }
}

/** Asks for the definitions and imports them; one of the same name and language is replaced. */
export function ImportTemplates({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [text, setText] = useState('')
  const act = async (): Promise<void> => {
    const templates = definitionsOf(text)
    await call('POST', '/admin/templates', { body: { data: templates } })
    say(`${counted(templates.length, 'template')} imported.`)
    onClose()
    onDone()
  }
  return (
    <Confirm title="Import templates" verb="Import" ready={text.trim() !== ''} act={act} onClose={onClose}>
      <label class="field">
        <span>File</span>
        <input
          type="file"
          accept=".json,application/json"
          onChange={async ({ currentTarget }) => setText((await currentTarget.files?.[0]?.text()) ?? '')}
        />
      </label>
      <TextArea
        label="Definitions as JSON"
        value={text}
        onValue={setText}
        rows={9}
        help="As WhatsApp exports them. One of the same name and language is replaced."
      />
    </Confirm>
  )
}
