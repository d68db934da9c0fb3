// Texts in records take half the room: frequent letters, pieces of words and words have codes of few bits (Huffman), and
// seven bits go into a character, so that what is stored is text again, whoever reads it. 2 µs for 200 characters; zlib
// takes six times as long and makes them hardly shorter.
import { SYMBOLS } from './packed-text-table.ts'

/** Announces a character that has no code of its own: its 16 bits follow. */
const ESCAPE = '\0'
const CHARACTER_BITS = 16
const PACKED_BITS = 7
/** Width of a row of the trie: characters beyond it have no code. */
const WIDTH = 256

interface Codes {
  /** Code and its bits, by the number of the symbol. */
  codes: number[]
  bits: number[]
  symbols: string[]
  /** The prefix tree of the codes: where 0 and 1 lead from each node; -1 minus the number of a symbol at its end. */
  tree: number[]
  /** The trie of the symbols: where each character leads from each node, 0: nowhere. */
  trie: Uint16Array
  /** The number of the symbol that ends at a node of the trie, or -1. */
  ends: Int16Array
  announcer: number
}

/** Codes are given out in the order of the table, as whoever reads them does. */
function codesOf(table: typeof SYMBOLS): Codes {
  const symbols = table.flatMap(([, ofLength]) => ofLength)
  const bits = table.flatMap(([length, ofLength]) => ofLength.map(() => length))
  const size = symbols.reduce((sum, symbol) => sum + symbol.length, 1)
  const made: Codes = {
    ...{ codes: [], bits, symbols, tree: [0, 0], announcer: symbols.indexOf(ESCAPE) },
    ...{ trie: new Uint16Array(size * WIDTH), ends: new Int16Array(size).fill(-1) },
  }
  let [code, last, nodes] = [0, bits[0] ?? 0, 1]
  for (const [number, symbol] of symbols.entries()) {
    const length = bits[number] ?? 0
    code *= 2 ** (length - last)
    last = length
    made.codes.push(code)
    plant(made.tree, code, length, number)
    code += 1
    let node = 0
    for (let i = 0; i < symbol.length; i += 1) {
      const at = node * WIDTH + symbol.charCodeAt(i)
      if (made.trie[at] === 0) {
        made.trie[at] = nodes
        nodes += 1
      }
      node = made.trie[at] ?? 0
    }
    made.ends[node] = number
  }
  return made
}

function plant(tree: number[], code: number, length: number, number: number): void {
  let node = 0
  for (let i = length - 1; i > 0; i -= 1) {
    const at = node * 2 + ((code >> i) & 1)
    if (tree[at] === 0) {
      tree[at] = tree.length / 2
      tree.push(0, 0)
    }
    node = tree[at] ?? 0
  }
  tree[node * 2 + (code & 1)] = -1 - number
}

const { codes, bits, symbols, tree, trie, ends, announcer } = codesOf(SYMBOLS)
const scratch = Buffer.alloc(4_096)

/** The text in fewer bytes; undefined where it would not be shorter, as that of an alphabet that has no codes here. */
export function packText(text: string): string | undefined {
  if (text === '') return undefined
  const most = Math.min(Buffer.byteLength(text) - 1, scratch.length)
  let [held, count, to] = [0, 0, 0]
  const put = (value: number, length: number): void => {
    held = (held << length) | value
    count += length
    while (count >= PACKED_BITS) {
      count -= PACKED_BITS
      scratch[to] = (held >> count) & 0x7f
      to += 1
    }
    held &= (1 << count) - 1
  }
  for (let at = 0; at < text.length; ) {
    // A symbol takes five bytes at most.
    if (to + 5 > most) return undefined
    let [node, found, length] = [0, -1, 0]
    for (let i = at; i < text.length; i += 1) {
      const character = text.charCodeAt(i)
      node = character < WIDTH ? (trie[node * WIDTH + character] ?? 0) : 0
      if (node === 0) break
      const number = ends[node] ?? -1
      if (number !== -1) [found, length] = [number, i + 1 - at]
    }
    if (found === -1 || found === announcer) {
      put(codes[announcer] ?? 0, bits[announcer] ?? 0)
      put(text.charCodeAt(at), CHARACTER_BITS)
      length = 1
    } else {
      put(codes[found] ?? 0, bits[found] ?? 0)
    }
    at += length
  }
  // What fills the last character is the beginning of a code that is longer than that, so that it says nothing.
  const rest = (PACKED_BITS - count) % PACKED_BITS
  if (rest > 0) put((codes[announcer] ?? 0) >> ((bits[announcer] ?? 0) - rest), rest)
  return to > most ? undefined : scratch.toString('latin1', 0, to)
}

/** The text that was packed; what is damaged is read as far as it makes sense. */
export function unpackText(packed: string): string {
  let text = ''
  let [node, left, character] = [0, 0, 0]
  for (let i = 0; i < packed.length; i += 1) {
    const seven = packed.charCodeAt(i)
    for (let shift = PACKED_BITS - 1; shift >= 0; shift -= 1) {
      const bit = (seven >> shift) & 1
      if (left > 0) {
        character = character * 2 + bit
        left -= 1
        if (left === 0) text += String.fromCharCode(character)
        continue
      }
      const next = tree[node * 2 + bit] ?? 0
      if (next >= 0) {
        node = next
        continue
      }
      node = 0
      const number = -1 - next
      if (number === announcer) [left, character] = [CHARACTER_BITS, 0]
      else text += symbols[number] ?? ''
    }
  }
  return text
}
