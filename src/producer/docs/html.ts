// HTML as text. Everything that comes from the description passes `escaped`, once, on its way in.

/** Text as it may stand between tags and in quoted attributes. */
export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

/** What the sentences of the description have of Markdown: `code` and **bold**. */
export const sentence = (text: string): string =>
  escaped(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')

/** Paragraphs, parted by empty lines. */
export const paragraphs = (text: string): string =>
  text
    .split(/\n{2,}/)
    .map((part) => `<p>${sentence(part)}</p>`)
    .join('\n')

/** A table with a caption for those who cannot see where it stands; nothing when it would be empty. Cells are HTML. */
export function table(caption: string, heads: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const head = heads.map((each) => `<th scope="col">${each}</th>`).join('')
  const body = rows.map(([first = '', ...others]) => {
    const cells = others.map((cell) => `<td>${cell}</td>`).join('')
    return `<tr><th scope="row">${first}</th>${cells}</tr>`
  })
  return (
    `<div class="table" role="region" tabindex="0" aria-label="${caption}"><table><caption>${caption}</caption>` +
    `<thead><tr>${head}</tr></thead><tbody>${body.join('')}</tbody></table></div>`
  )
}

/** JSON to look at, which opens when it is asked for. */
export const jsonBlock = (title: string, value: unknown): string =>
  `<details><summary>${sentence(title)}</summary><pre tabindex="0"><code>${escaped(
    typeof value === 'string' ? value : JSON.stringify(value, null, 2),
  )}</code></pre></details>`
