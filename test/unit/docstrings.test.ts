// Pins: the check of docstrings finds what has none, and what only repeats its name.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

/** What the check says of a file with this text, a line each; empty when it passes. */
function check(text: string): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-docstrings-'))
  try {
    const path = join(folder, 'some.ts')
    writeFileSync(path, text)
    const run = spawnSync(process.execPath, ['scripts/docstrings.mjs', path], { encoding: 'utf8' })
    const faults = run.stderr.split('\n').filter((line) => line.startsWith(path))
    expect(run.status).toBe(faults.length === 0 ? 0 : 1)
    return faults.map((fault) => fault.slice(path.length + 1))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('functions, classes and interfaces that are exported without a docstring are named, with their line', () => {
  const faults = check(`
export function one() {}
/** Too far up. */

const own = () => {}
export const two = async () => own()
// No docstring.
export class Three {}
export interface Four { five: number }
`)
  expect(faults).toEqual([
    '2 one has no docstring',
    '6 two has no docstring',
    '8 Three has no docstring',
    '9 Four has no docstring',
  ])
})

test('a docstring that only repeats the name is none', () => {
  expect(check('/** The sender of a lane, or undefined. */\nexport function findSender() {}')).toEqual([])
  expect(check('/** Finds the sender. */\nexport function findSender() {}')).toHaveLength(1)
})

test('what has a docstring passes, and so do values, types and what is not exported', () => {
  expect(
    check('/** In ms, from 1. */\nexport const limitOf = () => 1\nexport const MOST = 3\nfunction own() {}'),
  ).toEqual([])
})
