// Pins: docs/guides/simulator.md has the fields and settings that the simulator takes. Its table of numbers is generated
// (docs.test.ts).

import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { BEHAVIOURS } from '../../packages/simulator/src/behaviours.ts'
import { environment } from '../../packages/simulator/src/config.ts'
import { controlSchema } from '../../packages/simulator/src/control.ts'

const page = readFileSync(new URL('../../docs/guides/simulator.md', import.meta.url), 'utf8')

/** The cells of the table under a heading, without its head. */
function tableUnder(heading: string): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('|'))
  return rows.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}

const unquoted = (cells: (string | undefined)[]) => cells.map((cell) => cell?.replaceAll('`', ''))

test('every name and every number exists once, and every number is in the reserved range', () => {
  expect(new Set(BEHAVIOURS.map((one) => one.name)).size).toBe(BEHAVIOURS.length)
  expect(new Set(BEHAVIOURS.map((one) => one.number)).size).toBe(BEHAVIOURS.length)
  expect(BEHAVIOURS.filter((one) => !/^1555010\d{4}$/.test(one.number))).toEqual([])
})

test('the documented fields of the control endpoint are those that it accepts', () => {
  const documented = unquoted(tableUnder('Steering it').map(([field]) => field))
  expect(documented.sort()).toEqual(Object.keys(controlSchema.shape).sort())
})

test('the documented settings are those that are read, with their defaults', () => {
  const documented = new Map(
    tableUnder('Settings')
      .map(([name, value]) => unquoted([name, value]))
      .map(([name, value]) => [name, value]),
  )
  expect([...documented.keys()].sort()).toEqual(Object.keys(environment.shape).sort())
  for (const [name, value] of Object.entries(environment.parse({}))) {
    if (value !== undefined && value !== '') expect(documented.get(name)).toBe(String(value))
  }
})
