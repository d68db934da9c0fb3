// Answers for a terminal: tables, durations, bars, and text that cannot do anything to the terminal.
import Table from 'cli-table3'
import type { Answer } from './verb.ts'

/** Control characters, and those that turn the direction of what follows. */
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/**
 * Text that is safe to print: control characters, which a message or a name from outside may bring to move the cursor,
 * to recolour the terminal or to have a line read backwards, are shown as `\u001b` instead of being obeyed.
 */
export function printable(text: string): string {
  return text.replace(UNSAFE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A document for scripts that is safe on a terminal too: the same characters as JSON writes them, it reads alike. */
export const printableJson = (document: unknown): string =>
  JSON.stringify(document, null, 2).replace(UNSAFE, (found) => (found === '\n' ? found : printable(found)))

/** No lines between cells, only two spaces. */
const NO_LINES = Object.fromEntries(
  ['top', 'top-mid', 'top-left', 'top-right', 'bottom', 'bottom-mid', 'bottom-left', 'bottom-right']
    .concat(['left', 'left-mid', 'mid', 'mid-mid', 'right', 'right-mid', 'middle'])
    .map((line) => [line, '']),
)

/** Columns under their headings, two spaces apart. A cell that is missing or empty is shown as a dash. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const drawn = new Table({
    chars: NO_LINES,
    // No colours; a name may have wide characters, whose columns the library counts.
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 2 },
  })
  drawn.push([...headings], ...rows.map((row) => headings.map((_, column) => printable(row[column] || '-'))))
  const lines = drawn.toString().split('\n')
  return lines.map((line) => line.trimEnd()).join('\n')
}

/** By its heading, what a column shows of an entry. */
export type Columns<T> = Readonly<Record<string, (entry: T) => string | number | null>>

/** A table of all entries. */
export function tableOf<T>(all: readonly T[], columns: Columns<T>): string {
  const cells = Object.values(columns)
  return table(
    Object.keys(columns),
    all.map((entry) => cells.map((cell) => String(cell(entry) ?? ''))),
  )
}

/** The answer of a verb that lists; `none` is the sentence for an empty list. */
export const listed = <T>(all: readonly T[], columns: Columns<T>, none: string): Answer => ({
  json: all,
  text: all.length === 0 ? none : tableOf(all, columns),
})

/** Names and what they are, one a line; those without a value are left out. */
export function keyValueTable(lines: readonly (readonly [name: string, value: string])[]): string {
  const shown = lines.filter(([, value]) => value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

/** A time to the second, `2026-03-01T12:00:00Z`. */
export const clockTime = (time: number | string): string => `${new Date(time).toISOString().slice(0, 19)}Z`

const BARS = '▁▂▃▄▅▆▇█'

/** Numbers as one line of bars: a character each, its height relative to the highest; a space for zero. */
export function sparkline(values: readonly number[]): string {
  const highest = Math.max(...values, 0)
  return values
    .map((value) => (value <= 0 ? ' ' : (BARS[Math.max(0, Math.ceil((value / highest) * BARS.length) - 1)] ?? '')))
    .join('')
}
