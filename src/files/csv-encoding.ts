// The encoding of a CSV file, found out as its bytes come. Pure, and of no platform: the console shows in the browser
// what the server will read.
//
// A file is read once, and its rows are used as they come. So nothing is guessed that a later byte could disprove: until
// the first byte beyond ASCII, UTF-8 and Windows-1252 are the same text, and from there on a file that is UTF-8 in one
// place and not in another is refused. Read as either, it would send garbage to somebody.

/**
 * The first four are recognised; the others are read when a person names them. All that TextDecoder knows, in every browser
 * and every Node.
 */
export const ENCODINGS = [
  ...(['utf-8', 'utf-16le', 'utf-16be', 'windows-1252'] as const),
  ...(['windows-1250', 'windows-1251', 'windows-1253', 'windows-1254', 'windows-1255', 'windows-1256'] as const),
  ...(['windows-1257', 'windows-1258', 'windows-874', 'macintosh', 'x-mac-cyrillic', 'ibm866'] as const),
  ...([
    'koi8-r',
    'koi8-u',
    'iso-8859-2',
    'iso-8859-3',
    'iso-8859-4',
    'iso-8859-5',
    'iso-8859-6',
    'iso-8859-7',
  ] as const),
  ...(['iso-8859-8', 'iso-8859-8-i', 'iso-8859-10', 'iso-8859-13', 'iso-8859-14', 'iso-8859-15'] as const),
  ...(['gbk', 'gb18030', 'big5', 'shift_jis', 'euc-jp', 'iso-2022-jp', 'euc-kr'] as const),
] as const
export type Encoding = (typeof ENCODINGS)[number]

/** The encoding that a person names, by any of its usual names: `CP1256` and `x-cp1256` are `windows-1256`. */
export function encodingNamed(name: string): Encoding | undefined {
  // The standard has `cp1256` for all pages of Windows but 1250 to 1258 alone are written so; spreadsheets say `1256`.
  const label = name.trim().replace(/^(?:cp|windows)?[-_ ]?(125[0-8])$/i, 'windows-$1')
  try {
    const { encoding } = new TextDecoder(label)
    return ENCODINGS.find((each) => each === encoding)
  } catch {
    return undefined
  }
}

/** A file whose text cannot be read. The message names where, and what to do. */
export class UnreadableCsvError extends Error {
  override name = 'UnreadableCsvError'
}

/** Bytes of a byte order mark, and what it marks. */
const MARKS: readonly [Encoding, readonly number[]][] = [
  ['utf-8', [0xef, 0xbb, 0xbf]],
  ['utf-16le', [0xff, 0xfe]],
  ['utf-16be', [0xfe, 0xff]],
]
const LONGEST_MARK = 3
/** How a ZIP begins, as which .xlsx and .ods are saved, and an .xls. */
const WORKBOOKS = [
  [0x50, 0x4b, 0x03, 0x04],
  [0xd0, 0xcf, 0x11, 0xe0],
]
/** What Windows-1252 has from 0x80 to 0x9F. Some releases of Node decode it as Latin-1, which has control characters there. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

/** Reads the bytes of a file, in the encoding that is `said`, else in the one that it turns out to have. */
export function createTextReader(said?: Encoding) {
  /** Undefined as long as all of it is ASCII. */
  let encoding = said
  /** No detection: the encoding was given, or there is a byte order mark. */
  let isCertain = said !== undefined
  let hasBegun = false
  let decoder: { of: Encoding; text: InstanceType<typeof TextDecoder> } | undefined
  /** Bytes that are not decoded yet: of a mark, or of a character that goes on. */
  let rest: Uint8Array = new Uint8Array()
  /** What the next byte is, when that is not the encoding: the text before it is handed out first. */
  let mixedWith: Encoding | undefined
  const position = createPosition()

  function begin(bytes: Uint8Array): Uint8Array {
    const startsWith = (head: readonly number[]) => head.every((byte, i) => bytes[i] === byte)
    if (WORKBOOKS.some(startsWith)) throw new UnreadableCsvError('the file is a workbook; save the sheet as CSV')
    const [marked, mark] = MARKS.find(([, bytesOfMark]) => startsWith(bytesOfMark)) ?? []
    if (marked === undefined || (said ?? marked) !== marked) return bytes
    encoding = marked
    isCertain = true
    return bytes.subarray(mark?.length)
  }

  /** How many bytes are whole characters; the first one beyond ASCII decides the encoding. */
  function wholeCharacters(bytes: Uint8Array, isLast: boolean): number {
    let at = 0
    while (at < bytes.length) {
      if ((bytes[at] ?? 0) < 0x80) {
        at += 1
        continue
      }
      const length = sequenceAt(bytes, at)
      if (length === undefined && !isLast) break
      const found = length ? 'utf-8' : 'windows-1252'
      encoding ??= found
      if (encoding !== found) {
        mixedWith = found
        break
      }
      at += length || 1
    }
    return at
  }

  function decode(bytes: Uint8Array, isLast: boolean): string {
    const of = encoding ?? 'utf-8'
    if (decoder?.of !== of) decoder = { of, text: new TextDecoder(of, { ignoreBOM: true }) }
    const text = decoder.text.decode(bytes, { stream: !isLast })
    if (of !== 'windows-1252') return text
    return text.replace(/[\x80-\x9f]/g, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80] ?? character)
  }

  function refuseMixed(): void {
    if (mixedWith !== undefined) throw mixed(position.now(), mixedWith, isCertain)
  }

  return {
    /**
     * The text of the next bytes, or of those that were kept back once there are no more. Throws an UnreadableCsvError; for
     * a byte in another encoding when it is called again, as the text before it is right.
     */
    read(next?: Uint8Array): string {
      refuseMixed()
      const isLast = next === undefined
      let bytes = joined(rest, next ?? new Uint8Array())
      if (!hasBegun && !isLast && bytes.length < LONGEST_MARK) {
        rest = bytes
        return ''
      }
      if (!hasBegun) bytes = begin(bytes)
      hasBegun = true
      const end = isCertain && encoding !== 'utf-8' ? bytes.length : wholeCharacters(bytes, isLast)
      rest = bytes.subarray(end)
      const text = decode(bytes.subarray(0, end), isLast)
      position.pass(text)
      if (isLast) refuseMixed()
      return text
    },
    /** What all that was read so far is in. */
    encoding: (): Encoding => encoding ?? 'utf-8',
  }
}

function mixed(where: string, found: Encoding, isCertain: boolean): UnreadableCsvError {
  const what =
    found === 'utf-8'
      ? 'is UTF-8, but what is before it is not'
      : `is not UTF-8, but ${isCertain ? 'the file is said to be' : 'what is before it is'}`
  return new UnreadableCsvError(`${where} ${what}; save the file as UTF-8, or name its encoding if it has another`)
}

/** Bytes of the UTF-8 sequence that begins there: 0 when none does, undefined when the bytes end before it. */
function sequenceAt(bytes: Uint8Array, at: number): number | undefined {
  const lead = bytes[at] ?? 0
  const length = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  // The second byte shows whether it is too long for its character, a surrogate, or beyond Unicode.
  const from = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80
  const to = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf
  for (let i = 1; i < length; i += 1) {
    const byte = bytes[at + i]
    if (byte === undefined) return undefined
    if (byte < (i === 1 ? from : 0x80) || byte > (i === 1 ? to : 0xbf)) return 0
  }
  return length
}

/** Where in the file the text ends that has passed. */
function createPosition() {
  let [feeds, returns, characters] = [0, 0, 0]
  return {
    pass(text: string): void {
      feeds += text.split('\n').length - 1
      returns += text.split('\r').length - 1
      const end = Math.max(text.lastIndexOf('\n'), text.lastIndexOf('\r'))
      characters = end === -1 ? characters + text.length : text.length - end - 1
    },
    // Lines end in one of them, or in both.
    now: (): string => `line ${Math.max(feeds, returns) + 1}, character ${characters + 1}`,
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array {
  if (first.length === 0) return second
  const both = new Uint8Array(first.length + second.length)
  both.set(first)
  both.set(second, first.length)
  return both
}
