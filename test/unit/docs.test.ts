// Pins: what README, changelog and docs/ name is there: commands, paths, links, settings, tests. What they say of it is
// for people to check.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { environment } from '../../packages/simulator/src/config.ts'
import { createProgram } from '../../src/cli/program.ts'
import { settings } from '../../src/kernel/config.ts'
import { TAKEN_FIELDS } from '../../src/providers/cloud-webhook.ts'
import { SCENARIOS } from '../prove/scenarios/all.ts'
import { type Page, readPage, readPages, tableUnder } from '../support/pages.ts'
import { ROOMS } from '../support/rooms.ts'

const pages = readPages()
const { scripts } = z
  .object({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readFileSync('package.json', 'utf8')))
const program = await createProgram({ stdin: process.stdin, stdout: process.stdout, stderr: process.stderr })
const nouns = new Map(program.commands.map((noun) => [noun.name(), noun]))

/** What `look` finds wrong, with the page it is on. */
const faultsOf = (look: (page: Page) => readonly string[]): string[] =>
  pages.flatMap((page) => look(page).map((fault) => `${page.path}: ${fault}`))

test('exactly the webhook fields that Laneway uses are in the reference', () => {
  const { text } = readPage('docs/reference/http/webhooks.md')
  const [, table = ''] = text.split('Subscribe to these fields:')
  const rows = Array.from(table.split('\nEvery other field')[0]?.matchAll(/^\| `(\w+)`/gm) ?? [], ([, field]) => field)
  expect(rows).toEqual(TAKEN_FIELDS)
})

test('in generated tables of addresses sentences begin with a capital, and one is singular', () => {
  const notes = pages
    .filter(({ path }) => path.startsWith('docs/reference/http/'))
    .flatMap(({ text }) => [...text.matchAll(/<!-- made: .*?-->(.*?)<!-- end -->/gs)])
    .flatMap(([, made = '']) => [...made.matchAll(/^\| `.* \| (.*) \|$/gm)].map(([, note = '']) => note))
  expect(notes.length).toBeGreaterThan(200)
  expect(notes.filter((note) => /(^|\. )[a-z]|\b1 (characters|items)/.test(note))).toEqual([])
})

test('every npm script named in docs exists', () => {
  const named = (page: Page) =>
    [...page.code, ...page.shell].flatMap((code) =>
      Array.from(code.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(start|test)\b)/g), ([, run, own]) => run ?? own),
    )
  expect(
    faultsOf((page) => named(page).flatMap((name) => (name && !scripts[name] ? [`npm run ${name}`] : []))),
  ).toEqual([])
  expect(named(readPage('CONTRIBUTING.md'))).toContain('check')
})

/** The words of a command up to the next pipe, redirection or command. A value in quotes is one word. */
function wordsOf(command: string): string[] {
  const [own = ''] = command.split(/(?:\s[|<>&;]|;\s*$)/)
  return Array.from(
    own.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g),
    ([, double, single, bare]) => double ?? single ?? bare ?? '',
  )
}

/** What is wrong with a command line of ours; `whole` asks for everything that must be given. */
function faultOfCommand(words: readonly string[], whole: boolean): string | undefined {
  const [nounName = '', verbName = '', ...rest] = words
  if (nounName === '' || /^[-<$]/.test(nounName)) return undefined
  const noun = nouns.get(nounName)
  if (!noun) return `no noun ${nounName}`
  if (verbName === '' || verbName.startsWith('-')) return undefined
  const verb = noun.commands.find((each) => each.name() === verbName)
  if (!verb) return `no verb ${nounName} ${verbName}`
  if (verb.commands.length > 0) {
    const [name = '', ...values] = rest
    const inner = verb.commands.find((each) => each.name() === name)
    if (name === '' || name.startsWith('-')) return undefined
    return inner ? faultOfValues(inner, values, whole && !values.includes('--help')) : `no verb ${verbName} ${name}`
  }
  return faultOfValues(verb, rest, whole && !rest.includes('--help'))
}

function faultOfValues(verb: Command, words: readonly string[], whole: boolean): string | undefined {
  const given = new Set<string>()
  let values = 0
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? ''
    if (!word.startsWith('--')) {
      values += 1
      continue
    }
    if (word === '--help') continue
    const option = verb.options.find(({ long }) => long === word)
    if (!option) return `no option ${verb.name()} ${word}`
    given.add(word)
    if (option.required) at += 1
  }
  if (!whole) return undefined
  const missing = verb.options.find(({ mandatory, long }) => mandatory && !given.has(long ?? ''))
  if (missing) return `${verb.name()} lacks ${missing.long}`
  const { length } = verb.registeredArguments
  const least = verb.registeredArguments.filter(({ required }) => required).length
  if (values >= least && values <= length) return undefined
  return `${verb.name()} takes ${length} arguments, got ${values}`
}

test('every command named in docs exists, and accepts its arguments', () => {
  const full = (page: Page) =>
    page.shell.flatMap((line) =>
      Array.from(line.matchAll(/(?:\bnpm run (?:--silent )?cli --|\bdist\/cli\.js) (.*)/g), ([, words = '']) => words),
    )
  const mentioned = (page: Page) =>
    page.code.flatMap((code) => {
      const [, own] = /^npm run (?:--silent )?cli -- (.*)/.exec(code) ?? []
      if (own !== undefined) return [own]
      return nouns.has(code.split(' ')[0] ?? '') && code.includes(' ') ? [code] : []
    })
  const faults = faultsOf((page) =>
    [
      ...full(page).map((command) => faultOfCommand(wordsOf(command), true)),
      ...mentioned(page).map((command) => faultOfCommand(wordsOf(command), false)),
    ].filter((fault) => fault !== undefined),
  )
  expect(faults).toEqual([])
  expect(faultOfCommand(['senders', 'borrow', '1'], true)).toBe('no verb senders borrow')
  expect(faultOfCommand(['events', 'endpoints', 'borrow'], true)).toBe('no verb endpoints borrow')
  expect(faultOfCommand(['keys', 'list', '--accounts', '1'], true)).toBe('no option list --accounts')
  expect(faultOfCommand(['contacts', 'import', 'people.csv'], true)).toBe('import lacks --tag')
  expect(faultOfCommand(['messages', 'show'], true)).toBe('show takes 1 arguments, got 0')
})

const SOURCES = /^(src|test|docs|scripts|bench|prove|examples|\.ci)(\/|$)/
const SOURCE_FILE = /^[\w./-]+\.(ts|mjs|lua|md|yml)$/

/** Whether a path that a page names is in the repository. What is built is there when its source is. */
const isThere = (path: string): boolean => existsSync(path.replace(/^dist\/(.*)\.js$/, 'src/$1.ts'))

test('every path named in docs exists', () => {
  const named = (page: Page) => [
    ...page.code.filter((code) => SOURCES.test(code) || SOURCE_FILE.test(code)),
    ...[...page.code, ...page.shell].flatMap((code) => code.match(/\bdist\/[\w/-]+\.js\b/g) ?? []),
  ]
  expect(faultsOf((page) => named(page).filter((path) => !isThere(path)))).toEqual([])
  expect(named(readPage('docs/how-it-works/where-to-look.md'))).toContain('src/model/messages/lifecycle.ts')
})

test('every file named in a comment exists', () => {
  const files = spawnSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter((file) => file !== '' && existsSync(file))
  const known = new Set(files.flatMap((file) => file.split('/').map((_, i, parts) => parts.slice(i).join('/'))))
  const COMMENT = /^\s*(?:\/\/|\/?\*|--)(.*)|\s(?:\/\/|\/\*\*)(\s.*)/
  const NAMED = /(?<![\w:/.*<-])(?:[\w.-]+\/)*[\w-][\w.-]*\.(?:tsx?|lua|md|mjs)\b(?!\()/g
  const deadOf = (line: string): string[] => {
    const [, whole, behind] = COMMENT.exec(line) ?? []
    return ((whole ?? behind)?.match(NAMED) ?? []).filter((name) => !known.has(name))
  }
  const sources = files.filter((file) =>
    /^(?:src|bench|prove|test|testbed|scripts|simulator|demo|packages|fuzz)\/.*\.(?:tsx?|lua|mjs)$/.test(file),
  )
  const dead = sources.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap(deadOf)
      .map((name) => `${file}: ${name}`),
  )
  expect(sources.length).toBeGreaterThan(500)
  expect(dead).toEqual([])
  expect(deadOf(['// see redis/lua.ts and redis', 'never-there.ts'].join('/'))).toEqual(['redis/never-there.ts'])
})

test('every link leads to a file, and to a heading in it', () => {
  const broken = (page: Page) =>
    page.links
      .filter((link) => !/^https?:/.test(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#')
        const target = path === '' ? page.path : normalize(join(dirname(page.path), path))
        if (!existsSync(target)) return true
        return anchor !== undefined && !readPage(target).anchors.includes(anchor)
      })
  expect(faultsOf(broken)).toEqual([])
})

test('every page can be reached from the README', () => {
  const targets = new Map(
    pages.map(({ path, links }) => [
      path,
      links.map((link) => normalize(join(dirname(path), link.split('#')[0] ?? ''))),
    ]),
  )
  const reached = new Set(['README.md', 'CHANGELOG.md'])
  for (const path of reached) for (const target of targets.get(path) ?? []) reached.add(target)
  expect(pages.map(({ path }) => path).filter((path) => !reached.has(path))).toEqual([])
})

test('every setting named in docs exists', () => {
  const known = new Set([...Object.keys(settings), ...Object.keys(environment.shape)])
  const named = (page: Page) => [
    ...(page.text.match(/\b(?:LANEWAY|SIMULATOR)_[A-Z_]*[A-Z]\b/g) ?? []),
    ...[...page.code, ...page.shell].flatMap((code) =>
      Array.from(code.matchAll(/\b([A-Z][A-Z_]+)=\S* (?=[A-Z_]+=|npm |node )/g), ([, name = '']) => name),
    ),
  ]
  expect(faultsOf((page) => named(page).filter((name) => !known.has(name)))).toEqual([])
})

test('the table of modules has every folder of src once, in the order in which they may import each other', () => {
  const rows = tableUnder(readPage('docs/how-it-works/architecture.md'), 'Modules and dependency rules')
  const listed = rows.map(([folder = '']) => folder.replaceAll('`', ''))
  const folders = readdirSync('src', { withFileTypes: true }).filter((entry) => entry.isDirectory())
  expect([...listed].sort()).toEqual(folders.map(({ name }) => name).sort())
  expect(listed).toEqual(ROOMS.filter((room) => listed.includes(room)))
})

test('every scenario of the proof is in the guarantees, and every one named there exists', () => {
  const guarantees = readPage('docs/how-it-works/guarantees.md')
  const scenarios = readdirSync('test/prove/scenarios').filter((name) => name !== 'all.ts')
  expect(scenarios.filter((name) => !guarantees.code.includes(`test/prove/scenarios/${name}`))).toEqual([])
  const known = SCENARIOS.map(({ name }) => name)
  const named = (page: Page) =>
    [...page.code, ...page.shell].flatMap((code) => /\bprove -- .*--only (\S+)/.exec(code)?.[1]?.split(',') ?? [])
  expect(named(guarantees)).toContain('redis-full')
  expect(faultsOf((page) => named(page).filter((name) => !known.includes(name)))).toEqual([])
})

test('every promise of the guarantees has a test that npm test runs, not only the proof', () => {
  const page = readPage('docs/how-it-works/guarantees.md')
  const promises = ['What is promised of messages', 'What is promised around them'].flatMap((title) =>
    tableUnder(page, title),
  )
  expect(promises.length).toBeGreaterThan(20)
  const held = /`test\/[\w./-]+\.test\.ts`, "/
  expect(promises.filter(([promise, bound, test]) => !(promise && bound && held.test(test ?? '')))).toEqual([])
})

test('every test quoted after its file in docs is in that file', () => {
  const named = (page: Page) =>
    page.prose
      .split(/\n(?=\s*(?:- |\n|\|))/)
      .flatMap((item) => {
        const [, path] = /`((?:test|prove)\/[\w./-]+\.test\.ts)`/.exec(item) ?? []
        if (path === undefined) return []
        return Array.from(item.matchAll(/"([^"]+)"/g), ([, title = '']) => ({
          path,
          title: title.replaceAll(/\s+/g, ' '),
        }))
      })
      .filter(({ path, title }) => !(existsSync(path) && readFileSync(path, 'utf8').includes(title)))
      .map(({ path, title }) => `${path} has no "${title}"`)
  expect(faultsOf(named)).toEqual([])
})

test('secret files that a guide has people write into the checkout are ignored by git', () => {
  const written = pages.flatMap(({ shell }) =>
    shell.flatMap((code) => Array.from(code.matchAll(/[<>] ?([\w.-]+\.txt)\b/g), ([, name]) => name)),
  )
  const ignored = readFileSync('.gitignore', 'utf8').split('\n')
  expect([...new Set(written)].sort()).toEqual(expect.arrayContaining(['app-secret.txt', 'key.txt', 'token.txt']))
  expect(written.filter((name) => !ignored.includes(`/${name}`))).toEqual([])
})
