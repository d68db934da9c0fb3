// How a CSV file is read, for when that is not found out right.
import { ENCODINGS, type Encoding } from '../../files/csv-encoding.ts'
import { type CsvSaid, SEPARATORS, type Separator } from '../../files/csv-head.ts'
import { Choice } from './field.tsx'

const ENCODING_NAMES: Readonly<Record<Encoding, string>> = {
  'utf-8': 'UTF-8',
  'utf-16le': 'UTF-16, low byte first',
  'utf-16be': 'UTF-16, high byte first',
  'windows-1252': 'Windows-1252, Western Europe',
  'windows-1250': 'Windows-1250, Central Europe',
  'windows-1251': 'Windows-1251, Cyrillic',
  'windows-1253': 'Windows-1253, Greek',
  'windows-1254': 'Windows-1254, Turkish',
  'windows-1257': 'Windows-1257, Baltic',
  macintosh: 'Macintosh, Western Europe',
}
const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = {
  ',': 'Commas',
  ';': 'Semicolons',
  '\t': 'Tabs',
  '|': 'Bars',
}
const FOUND_OUT = ['', 'Found out'] as const

/** Two choices, both of which may be left alone. */
export function CsvChoices({ said, onSaid }: { said: CsvSaid; onSaid: (said: CsvSaid) => void }) {
  return (
    <details>
      <summary>Letters or columns look wrong?</summary>
      <Choice
        label="Encoding"
        value={said.encoding ?? ''}
        onValue={(value) => onSaid({ ...said, encoding: ENCODINGS.find((each) => each === value) })}
        options={[FOUND_OUT, ...ENCODINGS.map((each) => [each, ENCODING_NAMES[each]] as const)]}
      />
      <Choice
        label="Columns are separated by"
        value={said.separator ?? ''}
        onValue={(value) => onSaid({ ...said, separator: SEPARATORS.find((each) => each === value) })}
        options={[FOUND_OUT, ...SEPARATORS.map((each) => [each, SEPARATOR_NAMES[each]] as const)]}
      />
    </details>
  )
}
