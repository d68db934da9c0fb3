// What programs read of the site: each page as the Markdown it is made of, and llms.txt, which lists them with a sentence each
// (https://llmstxt.org).
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** A sentence that is shorter is one of its table's words, or leads to the next. */
const SHORT = 12

/** The first sentence below the heading, with the next where it is short. */
function aboutOf(text) {
  const paragraph = text.split(/\n{2,}/).find((part) => /^[A-Z`"]/.test(part.trim()))
  const sentences = (paragraph ?? '').replaceAll(/\s+/g, ' ').match(/.*?[.:](?=\s|$)/g) ?? []
  const [first = '', second = ''] = sentences.map((sentence) => sentence.trim())
  // Links lead elsewhere: their words are enough here.
  return (first.length < SHORT ? `${first} ${second}` : first)
    .replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1')
    .replace(/:$/, '.')
}

/** Writes both into the site at `out`. `sections` are those of the sidebar, `docs` the folder of the pages. */
export function writePlainPages({ docs, out, title, description, sections }) {
  const parts = sections.map(({ text, items }) => {
    const lines = items.map(({ text: name, link }) => {
      const path = `${link.replace(/^\//, '').replace(/(^|\/)$/, '$1index')}.md`
      const from = join(docs, path)
      const to = join(out, path)
      mkdirSync(dirname(to), { recursive: true })
      cpSync(from, to)
      // The title of a decision says what was decided.
      const about = path.startsWith('adr/') ? '' : aboutOf(readFileSync(from, 'utf8'))
      return `- [${name}](${path})${about && `: ${about}`}`
    })
    return `## ${text}\n\n${lines.join('\n')}\n`
  })
  writeFileSync(join(out, 'llms.txt'), `# ${title}\n\n> ${description}\n\n${parts.join('\n')}`)
}
