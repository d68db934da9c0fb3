// The Markdown pages for people, taken apart: prose, code, links, headings.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Page {
  /** Path from the root of the repository. */
  path: string
  text: string
  /** The text without fenced blocks. */
  prose: string
  /** Inline code, without its backticks. */
  code: string[]
  /** Lines of fenced blocks that are typed into a shell; a line that ends with a backslash is joined with the next. */
  shell: string[]
  /** Targets of links. */
  links: string[]
  /** Anchors of its headings, as GitHub makes them. */
  anchors: string[]
}

const FENCE = /^```(\w*)(?: \[.*\])?\n([\s\S]*?)^```$/gm

/** README, changelog and everything under docs/. */
export function readPages(): Page[] {
  const docs = ['docs', ...foldersOf('docs')].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  )
  return ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'SECURITY.md', ...docs.sort()].map(readPage)
}

/** All folders below one, but for hidden ones: the site that is built of docs/ lives in one. */
const foldersOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'))
    .flatMap(({ name }) => [join(folder, name), ...foldersOf(join(folder, name))])

/** The pages of docs/reference/http: what is said of each address. */
export const readHttpPages = (): Page[] => readPages().filter(({ path }) => path.startsWith('docs/reference/http/'))

export function readPage(path: string): Page {
  const text = readFileSync(path, 'utf8')
  const prose = text.replace(FENCE, '')
  const blocks = Array.from(text.matchAll(FENCE), ([, language = '', content = '']) => ({ language, content }))
  return {
    path,
    text,
    prose,
    code: Array.from(prose.matchAll(/`([^`\n]+)`/g), ([, code = '']) => code),
    shell: blocks
      .filter(({ language }) => language === 'sh')
      .flatMap(({ content }) => content.replaceAll(/\\\n\s*/g, '').split('\n'))
      .filter((line) => line.trim() !== '' && !line.startsWith('#')),
    links: Array.from(prose.matchAll(/\]\(([^)\s]+)\)/g), ([, target = '']) => target),
    anchors: Array.from(prose.matchAll(/^#+ (.*)$/gm), ([, heading = '']) => anchorOf(heading)),
  }
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** The rows of the first table under a heading of a page, without its head; cells trimmed. */
export function tableUnder(page: Page, heading: string): string[][] {
  const section = page.text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
