// Detects text that was probably read in the wrong encoding, or written for a web page. It could be right, so it is neither
// changed nor refused; it becomes a question to a person.

/** What makes a text doubtful. */
type Doubt = 'twice' | 'high' | 'entities'

/** Windows-1252 from 0x80 to 0x9F, as characters. */
const HIGH_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'
/** A lead byte of UTF-8 and one that follows it, both read as Windows-1252. */
const TWICE = new RegExp(`[\\u00c2-\\u00f4][\\u0080-\\u00bf${HIGH_1252}]`)
/** Three or more characters with accents and no plain letter: what a name in another script looks like in a wrong encoding. */
const HIGH = /^[^A-Za-z]*$/
const ACCENTED = new RegExp(`[\\u00a1-\\u00ff${HIGH_1252}]`, 'g')
const ACCENTED_LETTERS = /[\u00c0-\u00ff]/g
/** A letter of another script was read rightly. */
const OTHER_LETTER = /[^\P{L}\x20-\u00ff\u0152\u0153\u0160\u0161\u0178\u017d\u017e\u0192\u02c6]/u
const ENTITY =
  /&(?:amp|lt|gt|quot|apos|nbsp|[aeiouAEIOUnNcCyY](?:acute|grave|circ|uml|tilde|cedil)|#\d{2,6}|#x[0-9a-f]{2,5});/i
const LETTERS_MIN = 3

/** What is doubtful about a text; most have no character beyond ASCII and no ampersand. */
export function doubtOf(text: string): Doubt | undefined {
  if (ENTITY.test(text)) return 'entities'
  if (!/[^\0-\x7f]/.test(text)) return undefined
  if (TWICE.test(text) && readTwice(text) !== undefined) return 'twice'
  const isHigh =
    HIGH.test(text) &&
    !OTHER_LETTER.test(text) &&
    (text.match(ACCENTED)?.length ?? 0) >= LETTERS_MIN &&
    (text.match(ACCENTED_LETTERS)?.length ?? 0) >= 2
  return isHigh ? 'high' : undefined
}

/** What `JosÃ©` was before UTF-8 was read as Windows-1252; undefined when it cannot have been that. */
export function readTwice(text: string): string | undefined {
  const bytes: number[] = []
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    const high = HIGH_1252.indexOf(character)
    if (high === -1 && code > 0xff) return undefined
    bytes.push(high === -1 ? code : 0x80 + high)
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(bytes))
  } catch {
    return undefined
  }
}

const WHY: Readonly<Record<Doubt, string>> = {
  twice: 'UTF-8 was read in another encoding before (as in JosÃ©); save the file anew from its source',
  high: 'there are only accented letters; if they are garbled, upload the file again and name its encoding, such as encoding=windows-1256',
  entities: 'there are codes of web pages (as in &amp;), which are sent as they are; take them out in the file',
}

/** Collects what is doubtful in a file, in flat memory. The values are people's own, so no sentence repeats one. */
export function createDoubts() {
  const found = new Map<Doubt, { count: number; where: string }>()
  return {
    /** `where` says for a person where it is: `line 7`. */
    add(text: string, where: string): void {
      const doubt = doubtOf(text)
      if (doubt === undefined) return
      const before = found.get(doubt)
      if (before) before.count += 1
      else found.set(doubt, { count: 1, where })
    },
    /** A sentence for each kind. */
    sentences: (): string[] =>
      Array.from(found, ([doubt, { count, where }]) => {
        const values = count === 1 ? `1 value (${where})` : `${count} values (the first: ${where})`
        return `in ${values} ${WHY[doubt]}`
      }),
  }
}
