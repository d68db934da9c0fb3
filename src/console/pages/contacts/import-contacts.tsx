// Importing people from a CSV file into a list.
import { useState } from 'preact/hooks'
import { type CsvSaid, type ReadAs, readAsSentence } from '../../../files/csv-head.ts'
import { counted, countText } from '../../logic/numbers.ts'
import { CsvChoices } from '../../parts/csv-choices.tsx'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Gauge } from '../../parts/spark.tsx'
import { Said } from '../../parts/text.tsx'
import type { Tag } from '../../state/library.ts'
import { uploadFile } from '../../state/upload.ts'

interface Imported {
  imported: number
  created: number
  refused: number
  repeated: number
  read_as: ReadAs
  refused_rows: { line: number; reason: string }[]
}

/** Asks for the file, shows its progress, and tells what was refused and why. */
export function ImportContacts({ tag, onDone, onClose }: { tag: Tag; onDone: () => void; onClose: () => void }) {
  const [file, setFile] = useState<File>()
  const [said, setSaid] = useState<CsvSaid>({})
  const [share, setShare] = useState<number>()
  const [result, setResult] = useState<Imported>()
  if (result) {
    return (
      <Dialog title={`Imported into ${tag.name}`} onClose={onClose}>
        <p role="status">
          {counted(result.imported, 'contact')} imported, {countText(result.created)} of them new;{' '}
          {countText(result.refused)} refused, {countText(result.repeated)} with the number of an earlier row.
        </p>
        <p>
          <Said text={readAsSentence(result.read_as)} />
        </p>
        {result.refused_rows.length > 0 && (
          <ul>
            {result.refused_rows.slice(0, 20).map(({ line, reason }) => (
              <li key={line}>
                Line {line}: <Said text={reason} />
              </li>
            ))}
          </ul>
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    )
  }
  const act = async (): Promise<void> => {
    if (!file) return
    setResult(await uploadFile<Imported>(`/contacts/import?tag=${tag.id}`, file, 'text/csv', setShare, said))
    onDone()
  }
  return (
    <Confirm title={`Import into ${tag.name}`} verb="Import" ready={file !== undefined} act={act} onClose={onClose}>
      <label class="field">
        <span>CSV file with the columns name, phone and email, in any order</span>
        <input
          type="file"
          accept=".csv,.tsv,.txt,text/csv"
          onChange={({ currentTarget }) => setFile(currentTarget.files?.[0])}
        />
      </label>
      <CsvChoices said={said} onSaid={setSaid} />
      <p class="help">Of two rows with one number the last one counts. Whoever is there already is updated.</p>
      {share !== undefined && <Gauge label="Uploaded" value={share} most={1} />}
    </Confirm>
  )
}
