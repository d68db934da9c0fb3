// Files as spreadsheet programs save them, byte for byte: two people, and how the file is to be read.

/** Windows-1252, by hand: what is between 0x80 and 0x9F is no Latin-1. */
const MARKS: Readonly<Record<string, number>> = { '€': 0x80, '’': 0x92, '“': 0x93, '”': 0x94, '–': 0x96, '…': 0x85 }
export const windows1252 = (text: string): Buffer =>
  Buffer.from(Array.from(text, (character) => MARKS[character] ?? character.codePointAt(0) ?? 0))

const utf16be = (text: string): Buffer => Buffer.from(text, 'utf16le').swap16()

export interface SpreadsheetExport {
  program: string
  bytes: Buffer
  encoding: string
  separator: string
  columns: readonly string[]
  /** Of +44 7700 900201 and +44 7700 900202. */
  names: readonly [string, string]
}

const COLUMNS = ['phone', 'name', 'city']
const NAMES = ['José', 'Zoë'] as const
const sheet = (separator: string, end: string, names: readonly string[] = NAMES): string =>
  [COLUMNS, ['+44 7700 900201', names[0], 'Köln'], ['+44 7700 900202', names[1], 'Paris']]
    .map((cells) => `${cells.join(separator)}${end}`)
    .join('')

/** Each is read right, without being told how. */
export const EXPORTS: readonly SpreadsheetExport[] = [
  {
    program: 'Excel, "CSV" where a comma is a decimal point',
    bytes: windows1252(sheet(';', '\r\n')),
    ...{ encoding: 'windows-1252', separator: ';', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'Excel, "CSV UTF-8"',
    bytes: Buffer.from(`\uFEFF${sheet(',', '\r\n')}`),
    ...{ encoding: 'utf-8', separator: ',', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'Excel, "Unicode text"',
    bytes: Buffer.from(`\uFEFF${sheet('\t', '\r\n')}`, 'utf16le'),
    ...{ encoding: 'utf-16le', separator: '\t', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'a program that writes UTF-16 with the high byte first',
    bytes: utf16be(`\uFEFF${sheet(';', '\n')}`),
    ...{ encoding: 'utf-16be', separator: ';', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'LibreOffice with tabs',
    bytes: Buffer.from(sheet('\t', '\n')),
    ...{ encoding: 'utf-8', separator: '\t', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'Numbers',
    bytes: Buffer.from(sheet(',', '\r\n').trimEnd()),
    ...{ encoding: 'utf-8', separator: ',', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'a program that names the semicolon',
    bytes: Buffer.from(`sep=;\r\n${sheet(';', '\r\n')}`),
    ...{ encoding: 'utf-8', separator: ';', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'a program that names the comma, quoted',
    bytes: windows1252(`"sep=,"\r\n${sheet(',', '\r\n')}`),
    ...{ encoding: 'windows-1252', separator: ',', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'a program that names the bar',
    bytes: Buffer.from(`sep=|\n${sheet('|', '\n')}`),
    ...{ encoding: 'utf-8', separator: '|', columns: COLUMNS, names: NAMES },
  },
  {
    program: 'Excel with quotation marks and the euro sign of Windows-1252',
    bytes: windows1252(sheet(';', '\r\n', ['“Zoë” – 5 €', 'O’Neill…'])),
    ...{ encoding: 'windows-1252', separator: ';', columns: COLUMNS, names: ['“Zoë” – 5 €', 'O’Neill…'] },
  },
  {
    program: 'Excel with line ends and separators in quoted cells of other columns',
    bytes: windows1252(
      'phone;"street;\r\nhouse";name\r\n+44 7700 900201;"A;\r\n1";José\r\n+44 7700 900202;"B\n2, x";Zoë\r\n',
    ),
    encoding: 'windows-1252',
    separator: ';',
    columns: ['phone', 'street;\nhouse', 'name'],
    names: NAMES,
  },
  {
    program: 'Excel on a Mac, lines that end as they did there long ago',
    bytes: windows1252(sheet(';', '\r')),
    ...{ encoding: 'windows-1252', separator: ';', columns: COLUMNS, names: NAMES },
  },
]

/** A bare column of numbers, which no separator separates. */
export const ONE_COLUMN = windows1252('phone\r\n+44 7700 900201\r\n+44 7700 900202\r\n')
