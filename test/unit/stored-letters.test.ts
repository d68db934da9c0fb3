// Pins: scripts and TypeScript have the letters of what is stored from one table, and no letter of a table means two things.
// A letter that a script had by itself, and that meant something else by then, once undid WhatsApp's hold at an erasure.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { DIGIT, SERIES } from '../../src/lanes/archive/index-segments.ts'
import { JOB, META } from '../../src/lanes/bullmq/layout.ts'
import { CLASS, FIELD } from '../../src/lanes/messages/record-format.ts'
import { ASIDE } from '../../src/model/campaigns/counts.ts'
import { MARK } from '../../src/model/events/outbox-entry.ts'
import { GAP, HISTORY, HISTORY_EVENTS } from '../../src/model/messages/history.ts'
import { LETTERS } from '../../src/model/messages/lifecycle.ts'
import { COUNTED, MEASURED } from '../../src/telemetry/history.ts'

const SRC = resolve(import.meta.dirname, '../../src')

/** The code of all files with this ending, without comments. */
const codeOf = (ending: '.lua' | '.ts', comment: RegExp): { file: string; code: string }[] =>
  readdirSync(SRC, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith(ending))
    .map((file) => ({ file, code: readFileSync(join(SRC, file), 'utf8').replace(comment, '') }))

const scripts = codeOf('.lua', /--.*$/gm)

/** What short texts of scripts may be: options of Redis' commands, replies, and the one short name of a field. */
const WORDS: ReadonlySet<string> = new Set(['NX', 'XX', 'GT', 'LT', 'PX', 'OK', 'ok', 'on', 'id'])

/** Texts of one or two letters in a piece of Lua. */
const shortTexts = (code: string): string[] =>
  [...code.matchAll(/(['"])([A-Za-z]{1,2})\1/g)].map(([, , text = '']) => text).filter((text) => !WORDS.has(text))

test('no script contains the literal letter of a field or a value', () => {
  expect(scripts.length).toBeGreaterThan(80)
  expect(scripts.flatMap(({ file, code }) => shortTexts(code).map((text) => `${file}: ${text}`))).toEqual([])
})

test.each([
  "redis.call('HDEL', record, 'x', 'z', 'v')",
  "redis.call('HSET', KEYS[1], \"t\", '')",
  "fields[#fields + 1] = 'e'",
  "redis.call('HINCRBY', counts, 'f', 1)",
  "redis.call('HMGET', job, 'da', 'data')",
  "if state == 'q' then return end",
])('a literal letter would be found in: %s', (code) => {
  expect(shortTexts(code)).not.toEqual([])
})

/** Texts of Lua with a sign of a packed event or history, and digits that the code chooses or appends. */
const signs = (code: string): string[] => {
  const texts = [...code.matchAll(/(\band|\.\.)? *(['"])(.*?)\2/g)]
  return texts.flatMap(([whole, before, , text = '']) => {
    const isDigit = before !== undefined && /^\d$/.test(text)
    return isDigit || text === MARK.firstProof || text.includes(MARK.repeated) || text.includes(GAP.dropped)
      ? [whole]
      : []
  })
}

test('no script contains a literal sign of an event or a history, nor a digit of a segment', () => {
  expect(scripts.flatMap(({ file, code }) => signs(code).map((text) => `${file}: ${text}`))).toEqual([])
})

test.each([
  "if p.state == READ then why = '+' end",
  "ulid .. p.state .. (p.repeats > 0 and '!' or '')",
  "string.gmatch('|' .. history, '|~(%d+)')",
  "series = series .. (late <= PUNCTUAL_MS and '0' or '2')",
  "series = series .. '1'",
])('a literal sign would be found in: %s', (code) => {
  expect(signs(code)).not.toEqual([])
})

test('no script appends to a key a part that is not in src/redis/keys.ts', () => {
  const appended = (code: string): string[] =>
    [...code.matchAll(/(['"])([:-][a-z][a-z:-]+)\1/g)].map(([text]) => text).filter((text) => text !== "'-inf'")
  expect(scripts.flatMap(({ file, code }) => appended(code).map((text) => `${file}: ${text}`))).toEqual([])
  expect(appended("redis.call('GET', key .. ':counts')")).toEqual(["':counts'"])
})

test('no command in TypeScript uses a literal one-letter field of a hash', () => {
  const files = codeOf('.ts', /^ *(\/\/|\*).*$/gm)
  const commands = files.flatMap(({ file, code }) =>
    [...code.matchAll(/\.h(?:get|set|mget|del|exists|incrby|setnx)\w*\([^\n]*/g)].map(([line]) => `${file}: ${line}`),
  )
  expect(commands.length).toBeGreaterThan(100)
  expect(commands.filter((line) => /'[A-Za-z]'/.test(line))).toEqual([])
})

test.each<[string, Readonly<Record<string, string>>]>([
  ['a message', FIELD],
  ['the class of a message', CLASS],
  ['the states of a message', LETTERS],
  ['the history of a message', HISTORY],
  ['the counts of a campaign', { ...LETTERS, ...ASIDE }],
  ['a job', JOB],
  ['a queue', META],
  ['the index of a lane', SERIES],
  ['a segment by time', DIGIT],
  ['a packed event or history', { ...MARK, ...GAP }],
  ['a period of the figures', { ...COUNTED, ...MEASURED }],
])('no letter or field of %s has two meanings', (_what, table) => {
  const stored = Object.values(table)
  expect(stored.filter((text, i) => stored.indexOf(text) !== i)).toEqual([])
})

/** Every letter of a message's record that a field was ever given. One is added with a new field, and none ever goes. */
const EVER_GIVEN: Readonly<Record<string, string>> = {
  ...{
    a: 'attempt',
    b: 'others',
    c: 'pricing',
    d: 'reference',
    e: 'problem',
    g: 'campaign',
    h: 'history',
    j: 'cappedUntil',
  },
  ...{ k: 'type', l: 'sendAt', m: 'messageStatus', n: 'tries', o: 'repeats', p: 'payload', q: 'waves' },
  ...{
    r: 'run',
    s: 'state',
    t: 'to',
    u: 'validUntil',
    v: 'filled',
    w: 'providerId',
    x: 'text',
    y: 'class',
    z: 'heldSince',
  },
}

test('no letter of a message was ever reused for another field', () => {
  for (const [name, letter] of Object.entries(FIELD)) expect([letter, name]).toEqual([letter, EVER_GIVEN[letter]])
})

test('every event of a history has its text, and one that leads to a state the letter of that state', () => {
  expect(Object.keys(HISTORY_EVENTS).sort()).toEqual(Object.values(HISTORY).sort())
  expect(Object.values(HISTORY)).toEqual(expect.arrayContaining(Object.values(LETTERS)))
})
