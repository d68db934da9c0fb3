// Makes text from outside safe to read. Markup does no harm, because pages show it as text; but bidi controls, terminal
// escapes and invisible characters can change how the text around them looks. Each is shown by its name instead.

const NAMES: Readonly<Record<number, string>> = {
  0: 'NUL',
  7: 'BEL',
  8: 'BS',
  27: 'ESC',
  127: 'DEL',
  155: 'CSI',
  8203: 'ZWSP',
  8206: 'LRM',
  8207: 'RLM',
  1564: 'ALM',
  8234: 'LRE',
  8235: 'RLE',
  8236: 'PDF',
  8237: 'LRO',
  8238: 'RLO',
  8294: 'LRI',
  8295: 'RLI',
  8296: 'FSI',
  8297: 'PDI',
  65279: 'BOM',
}

/** Controls other than tab and line feed, bidi controls, invisible characters. Joiners stay: emoji and some scripts need them. */
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it finds them to show them
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g

const nameOf = (character: string): string => {
  const code = character.codePointAt(0) ?? 0
  return `⟨${NAMES[code] ?? `U+${code.toString(16).toUpperCase().padStart(4, '0')}`}⟩`
}

/** The text with invisible characters shown by name: `a⟨RLO⟩b`. A carriage return before a line feed is dropped. */
export const plainText = (text: string): string => text.replaceAll('\r\n', '\n').replaceAll(UNSEEN, nameOf)
