// The recipients of a new campaign: contact lists, or the rows of a file.
import { useRef, useState } from 'preact/hooks'
import { type CsvOptions, readAsSentence } from '../../../../src/files/csv-head.ts'
import type { Draft } from '../logic/draft.ts'
import { bytesText, countText } from '../logic/numbers.ts'
import { bytesOf, csvFields, csvOptionsOf, likelyPhone, rowsHead } from '../logic/rows-head.ts'
import { Checks, Field } from '../parts/fields.tsx'
import { WhenLoaded } from '../parts/page.tsx'
import { Text, words } from '../parts/text.tsx'
import type { Loaded } from '../state/hooks.ts'
import type { Tag } from '../state/library.ts'
import { may } from '../state/session.ts'

interface Props {
  draft: Draft
  onChange: (change: Partial<Draft>) => void
}

/** Chooses between the two, with the fields of the chosen one. */
export const Recipients = ({ draft, tags, onChange }: Props & { tags: Loaded<Tag[]> }) => (
  <fieldset class="card">
    <legend class="h2">Recipients</legend>
    <div class="actions">
      {(['tags', 'file'] as const).map((source) => (
        <label key={source} class="check">
          <input type="radio" name="source" checked={draft.source === source} onChange={() => onChange({ source })} />
          {source === 'tags' ? 'Contacts by their lists' : 'A file'}
        </label>
      ))}
    </div>
    {draft.source === 'file' ? (
      <FileChoice draft={draft} onChange={onChange} />
    ) : may('readContacts') ? (
      <WhenLoaded loaded={tags}>{(all) => <TagChoice all={all} draft={draft} onChange={onChange} />}</WhenLoaded>
    ) : (
      <p class="held">Your key may not see contacts: choose a file.</p>
    )}
  </fieldset>
)

function TagChoice({ all, draft, onChange }: Props & { all: readonly Tag[] }) {
  if (all.length === 0) {
    return (
      <p>
        There is no list of contacts yet. <a href="/console/contacts">Make one and import people</a>, or choose a file.
      </p>
    )
  }
  const lists = all.map(
    ({ id, name, contacts }) =>
      [String(id), words`${name} ${<span class="quiet">{countText(contacts)}</span>}`] as const,
  )
  const group = (label: string, field: 'tags' | 'except') => (
    <Checks
      label={label}
      options={lists}
      chosen={draft[field].map(String)}
      onChosen={(chosen) => onChange({ [field]: chosen.map(Number) })}
    />
  )
  return (
    <div class="halves">
      {group('Everybody on one of these lists', 'tags')}
      {group('Leave out everybody on these lists', 'except')}
    </div>
  )
}

function FileChoice({ draft, onChange }: Props) {
  const [why, setWhy] = useState('')
  const { file, head, csvOptions: options } = draft
  /** The latest choice; the page may still be reading an earlier file. */
  const latest = useRef<object>(undefined)
  const take = async (file: File | undefined, options: CsvOptions): Promise<void> => {
    if (file === undefined) return
    const choice = {}
    latest.current = choice
    setWhy('')
    onChange({ file, head: undefined, csvOptions: options })
    const found = await rowsHead(file.name, bytesOf(file), options).catch(() => ({ why: 'The file cannot be read.' }))
    if (latest.current !== choice) return
    if ('why' in found) setWhy(found.why)
    else {
      const phone = found.columns.includes(draft.phone) ? draft.phone : likelyPhone(found.columns)
      onChange({ head: found, phone })
    }
  }
  return (
    <>
      <div class="drop">
        <label class="field">
          <span>Drop a CSV or NDJSON file here, or choose one</span>
          <input
            type="file"
            accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv,application/x-ndjson"
            onChange={(event) => void take(event.currentTarget.files?.[0], {})}
          />
        </label>
        <p class="help">A line for each person, the first line with the names of the columns.</p>
        {why !== '' && (
          <p class="problem" role="alert">
            {why}
          </p>
        )}
      </div>
      {file && !head && why === '' && <p role="status">The file is being read …</p>}
      {file && head?.format !== 'ndjson' && (
        <CsvChoices options={options} onOptions={(next) => void take(file, next)} />
      )}
      {file && head && (
        <>
          <p role="status">
            <Text text={file.name} />, {bytesText(file.size)}.{' '}
            <Text text={head.readAs ? readAsSentence(head.readAs) : `With the columns ${head.columns.join(', ')}.`} />
          </p>
          <Field
            label="The phone number is in the column"
            value={draft.phone}
            onValue={(phone) => onChange({ phone })}
            options={head.columns.map((column) => [column, column] as const)}
          />
        </>
      )}
    </>
  )
}

/** How the file is read, if the page guesses wrong. */
function CsvChoices({ options, onOptions }: { options: CsvOptions; onOptions: (options: CsvOptions) => void }) {
  const { encoding = '', separator = '' } = options
  return (
    <details>
      <summary>{csvFields.encoding.fold}</summary>
      <Field
        {...csvFields.encoding}
        value={encoding}
        onValue={(value) => onOptions(csvOptionsOf({ encoding: value, separator }))}
      />
      <Field
        {...csvFields.separator}
        value={separator}
        onValue={(value) => onOptions(csvOptionsOf({ encoding, separator: value }))}
      />
    </details>
  )
}
