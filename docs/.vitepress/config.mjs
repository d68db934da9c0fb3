// The site that `npm run docs` makes of docs/. A link to a page that is not there fails the build.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { writePlainPages } from './plain-pages.mjs'

const docs = join(dirname(fileURLToPath(import.meta.url)), '..')

/** The first heading of a page. */
const titleOf = (path) => /^# (.*)$/m.exec(readFileSync(join(docs, path), 'utf8'))?.[1] ?? path

const linkTo = (path) => ({ text: titleOf(path), link: `/${path.replace(/(?:(^|\/)index)?\.md$/, '$1')}` })

/** The pages of a folder, those that are named first. */
function pagesOf(folder, first = []) {
  const names = readdirSync(join(docs, folder)).filter((name) => name.endsWith('.md'))
  const rest = names.filter((name) => !first.includes(name) && name !== 'index.md').sort()
  return [...first, ...rest].map((name) => linkTo(`${folder}/${name}`))
}

/** In the order in which somebody needs them. */
const OPERATING = [
  ...['install-systemd.md', 'install-docker.md', 'install-kubernetes.md', 'redis-settings.md', 'files.md'],
  ...['first-account.md', 'daily-tasks.md', 'monitoring.md', 'troubleshooting.md', 'incidents.md'],
]

const sidebar = [
  { text: 'Start', items: pagesOf('start', ['first-hour.md', 'first-campaign.md']) },
  { text: 'Guides', items: pagesOf('guides', ['whatsapp.md', 'console.md', 'campaigns.md']) },
  { text: 'Operating', items: pagesOf('guides/operating', OPERATING), collapsed: true },
  { text: 'Reference', items: pagesOf('reference') },
  { text: 'HTTP', items: pagesOf('reference/http', ['index.md', 'sending.md']), collapsed: true },
  { text: 'How it works', items: pagesOf('how-it-works', ['architecture.md', 'where-to-look.md', 'guarantees.md']) },
  { text: 'Decisions', items: pagesOf('adr', ['README.md']), collapsed: true },
].filter(({ items }) => items.length > 0)

/** Anchors as GitHub makes them, so that one link works in both places. */
const slugify = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')

/** Links that leave docs/, such as to an example, have no page on the site: their text stays. */
function unlinkOutside(md) {
  md.core.ruler.push('unlink-outside', ({ tokens, env }) => {
    for (const { children } of tokens) {
      let isOpen = false
      for (const token of children ?? []) {
        const target = token.type === 'link_open' ? token.attrGet('href') : undefined
        if (target && !/^(?:[a-z]+:|#|\/)/.test(target)) {
          const path = relative(docs, join(dirname(env.path), target.split('#')[0]))
          isOpen = path.startsWith('..') && existsSync(join(docs, path))
        }
        if (!isOpen || !token.type.startsWith('link_')) continue
        if (token.type === 'link_close') isOpen = false
        token.type = 'text'
        token.tag = ''
        token.nesting = 0
        token.content = ''
      }
    }
  })
}

/** Blocks between these comments, which readers of the plain page do not see, are tabs. */
function tabs(md) {
  md.core.ruler.before('normalize', 'tabs', (state) => {
    state.src = state.src.replaceAll('<!-- tabs -->', '::: code-group').replaceAll('<!-- end of tabs -->', ':::')
  })
}

const title = 'Laneway'
const description = 'A self-hosted dispatcher for WhatsApp messages'

export default {
  title,
  description,
  buildEnd: ({ outDir }) => writePlainPages({ docs, out: outDir, title, description, sections: sidebar }),
  srcExclude: ['.vitepress/**'],
  markdown: {
    // `{id}` in a heading is a part of an address, not an attribute.
    attrs: { disable: true },
    anchor: { slugify },
    config: (md) => {
      unlinkOutside(md)
      tabs(md)
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: 'deep',
    nav: [
      { text: 'Start', link: '/start/first-hour' },
      { text: 'Guides', link: '/guides/campaigns' },
      { text: 'Reference', link: '/reference/http/' },
      { text: 'How it works', link: '/how-it-works/architecture' },
    ],
    sidebar,
  },
}
