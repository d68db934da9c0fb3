// Short aligned tables and plain text for a terminal.

/**
 * Text that is safe to print: control characters, which a message or a name from outside may bring to move the cursor
 * or to recolour the terminal, are shown as `\u001b` instead of being obeyed.
 */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** Columns under their headings, two spaces apart. A cell that is missing or empty is shown as a dash. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => headings.map((_, column) => printable(row[column] || '-')))
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  return [headings, ...cells]
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Names and what they are, one a line; those with nothing to tell are left out. */
export function facts(lines: readonly (readonly [name: string, value: string])[]): string {
  const told = lines.filter(([, value]) => value !== '')
  const width = Math.max(...told.map(([name]) => name.length))
  return told.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`).join('\n')
}

/** A time to the second, `2026-03-01T12:00:00Z`. */
export function clockTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
