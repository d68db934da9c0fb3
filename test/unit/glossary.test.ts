// Pins: each term of docs/glossary.md has one row, and the words of its table "Not used" stay dropped: those in italics
// from all that people read, those in code from the names in the code.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse } from '@babel/parser'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { readPage, readPages, tableUnder } from '../support/pages.ts'

const FOLDERS = ['src', 'packages/client/src', 'simulator']
/** What keeps an old name because people or stored data know it by that. */
const KEPT: Readonly<Record<string, readonly string[]>> = {
  'src/redis/keys.ts': ['ended badly', 'lone'],
  'src/accounts/store/accounts.ts': ['must arrive', 'never repeat'],
  'src/lanes/lane-status.ts': ['set aside'],
  'src/lanes/control.ts': ['set aside'],
  'src/cli/lanes.ts': ['set aside'],
  'src/producer/routes/admin.ts': ['set aside'],
  // The field of a campaign's record that holds its latest heartbeat.
  'src/campaigns/store/campaigns.ts': ['beat'],
  'src/campaigns/commands/describe.ts': ['beat'],
  'src/telemetry/live/campaigns.ts': ['beat'],
  'src/campaigns/store/scripts/campaign-heartbeat.lua': ['beat'],
  'src/campaigns/store/scripts/campaign-move.lua': ['beat'],
  'src/campaigns/store/scripts/campaign-round.lua': ['beat'],
  'src/campaigns/store/scripts/campaign-takeover.lua': ['beat'],
}

const page = readPage('docs/glossary.md')
const cells = tableUnder(page, 'Not used').map(([terms = '']) => terms)
const inNames = cells.flatMap((cell) => Array.from(cell.matchAll(/`([^`]+)`/g), ([, term = '']) => term))
const inText = cells.flatMap((cell) => Array.from(cell.matchAll(/_([^_]+)_/g), ([, term = '']) => term))

/** `campaignBraked`, `campaign-braked`, `campaign_braked` and `campaign.braked` are all `campaign braked`. */
const worded = (text: string): string =>
  ` ${text
    .replaceAll(/([a-z0-9])([A-Z])/g, '$1 $2')
    .replaceAll(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, ' ')} `

const droppedIn = (text: string, terms: readonly string[]): string[] => {
  const words = worded(text)
  return terms.filter((term) => words.includes(` ${term} `))
}

const token = z.object({ type: z.union([z.string(), z.object({ label: z.string() })]), value: z.unknown() })

/** The names and the texts of a TypeScript file; comments are neither. */
function tokensOf(source: string): { names: string[]; texts: string[] } {
  const { tokens } = parse(source, { sourceType: 'module', plugins: ['typescript'], tokens: true })
  const found = { names: [] as string[], texts: [] as string[] }
  for (const each of z.array(token).parse(tokens)) {
    if (typeof each.type === 'string' || typeof each.value !== 'string') continue
    if (each.type.label === 'name' || each.type.label === '#name') found.names.push(each.value)
    if (each.type.label === 'string' || each.type.label.startsWith('template')) found.texts.push(each.value)
  }
  return found
}

/** The names of a Lua file. Its texts are verdicts and keys, which are names as well. */
const namesOfLua = (source: string): string[] => source.replaceAll(/--.*$/gm, '').match(/[A-Za-z_]\w*/g) ?? []

/** `path: term in name` of everything in a file that says a dropped word. */
function faultsOf(path: string, source: string): string[] {
  const { names, texts } = path.endsWith('.lua') ? { names: namesOfLua(source), texts: [] } : tokensOf(source)
  const kept = KEPT[path] ?? []
  const faults = [
    ...[basename(path), ...names].flatMap((name) => droppedIn(name, inNames).map((term) => ({ term, at: name }))),
    ...texts.flatMap((text) => droppedIn(text, inText).map((term) => ({ term, at: text }))),
  ]
  return [...new Set(faults.flatMap(({ term, at }) => (kept.includes(term) ? [] : [`${path}: "${term}" in ${at}`])))]
}

const sources = FOLDERS.flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
).filter((path) => /\.(ts|lua)$/.test(path))

test('each term has one row, and none of them is a dropped word', () => {
  const terms = Array.from(page.text.matchAll(/^\| \*\*(.+?)\*\* /gm), ([, term = '']) => term)
  expect(terms.length).toBeGreaterThan(40)
  expect(terms.filter((term, i) => terms.indexOf(term) !== i)).toEqual([])
  expect(terms.flatMap((term) => droppedIn(term, [...inNames, ...inText]))).toEqual([])
})

test('no name and no text in the code is made of a dropped word', () => {
  expect(sources.length).toBeGreaterThan(100)
  expect(sources.flatMap((path) => faultsOf(path, readFileSync(path, 'utf8')))).toEqual([])
})

test('no page says a dropped word', () => {
  const read = readPages().filter(({ path }) => !/^(CHANGELOG|docs\/(adr|glossary|last-proof))/.test(path))
  const faults = read.flatMap(({ path, prose }) =>
    prose
      .replaceAll(/`[^`\n]*`|\]\([^)\s]*\)/g, ' ')
      .split('\n')
      .flatMap((line) => droppedIn(line, inText).map((term) => `${path}: "${term}" in ${line}`)),
  )
  expect(faults).toEqual([])
})

test('a dropped word is found in whatever way it is written', () => {
  const said = (source: string) => faultsOf('src/worker/some.ts', source)
  expect(said('const campaignDesk = 1')).toEqual(['src/worker/some.ts: "desk" in campaignDesk'])
  expect(said('const x = { lone_deaths: 1 }')).toEqual(['src/worker/some.ts: "lone" in lone_deaths'])
  expect(said("log.warn({}, 'message.set_aside')")).toEqual(['src/worker/some.ts: "set aside" in message.set_aside'])
  expect(said('const x = `$' + '{count} jobs were set aside`')).toHaveLength(1)
  expect(said('// told, as people say\nconst desktop = 1')).toEqual([])
  expect(faultsOf('src/lanes/scripts/lane-desk.lua', 'local a = 1 -- the beat')).toHaveLength(1)
})
