// Pins: docs/reference/log-events.md explains every event that the code logs, and none that it does not.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readPage } from '../support/pages.ts'

const EVENT = /[a-z_]+\.[a-z_]+/

/** The text between a bracket and the one that closes it. */
function inBrackets(text: string, from: number): string {
  let depth = 1
  let at = from
  for (; depth > 0 && at < text.length; at += 1) depth += text[at] === '(' ? 1 : text[at] === ')' ? -1 : 0
  return text.slice(from, at - 1)
}

/** The event of every call of a log, with its place; the last text that the call is given. */
function logged(path: string): { event: string | undefined; place: string }[] {
  const text = readFileSync(path, 'utf8')
  return Array.from(text.matchAll(/\blog\??(?:\.(?:trace|debug|info|warn|error|fatal)|\[[^\]]+\])\(/g), (call) => {
    const given = inBrackets(text, call.index + call[0].length)
    const texts = Array.from(given.matchAll(/'([^'\n]*)'/g), ([, each = '']) => each)
    const event = texts.at(-1)
    const place = `${path}:${text.slice(0, call.index).split('\n').length}`
    return { event: new RegExp(`^${EVENT.source}$`).test(event ?? '') ? event : undefined, place }
  })
}

const calls = ['src', 'packages/simulator/demo'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .flatMap((name) => logged(join(folder, name))),
)
const inCode = new Set(calls.flatMap(({ event }) => event ?? []))

/** What stands in the first column of the tables of events. */
const inTable = readPage('docs/reference/log-events.md')
  .text.split(/\n\n+/)
  .filter((block) => /^\| Event /.test(block))
  .flatMap((table) => table.split('\n').slice(2))
  .flatMap((row) => Array.from((row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g), ([, name = '']) => name))
  .filter((name) => EVENT.test(name))

test('every log call has its event as a literal', () => {
  expect(calls.length).toBeGreaterThan(50)
  expect(calls.filter(({ event }) => event === undefined).map(({ place }) => place)).toEqual([])
})

test('every event that is logged is explained in docs/reference/log-events.md', () => {
  expect([...inCode].filter((event) => !inTable.includes(event))).toEqual([])
})

test('every event of docs/reference/log-events.md is logged', () => {
  expect(inTable.filter((event) => !inCode.has(event))).toEqual([])
})
