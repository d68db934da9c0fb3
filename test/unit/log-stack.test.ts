// Pins: a stack that is written names the source of what ran from a bundle, and nothing else in it is touched or read.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createStackReader } from '../../src/log-stack.ts'

/** The first column of the first line is line 1 of src/a.ts, that of the second line 5. */
const MAP = JSON.stringify({ version: 3, sources: ['../src/a.ts'], names: [], mappings: 'AAAA;AAIA' })

let place: string
let bundles: URL
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'laneway-stack-'))
  for (const folder of ['bundle', 'elsewhere']) {
    mkdirSync(join(place, folder))
    writeFileSync(join(place, folder, 'main.js.map'), MAP)
  }
  writeFileSync(join(place, 'bundle/broken.js.map'), '{')
  bundles = pathToFileURL(`${join(place, 'bundle')}/`)
})
afterAll(() => rmSync(place, { recursive: true, force: true }))

const at = (file: string) => pathToFileURL(join(place, file)).href

test('frames in a bundle name the file and the line of the source, causes included', () => {
  const read = createStackReader(bundles)
  const stack = `Error: x\n    at send (${at('bundle/main.js')}:2:1)\n    at ${at('bundle/main.js')}:1:1\ncaused by: Error: y`
  const source = join(place, 'src/a.ts')
  expect(read(stack)).toBe(`Error: x\n    at send (${source}:5:1)\n    at ${source}:1:1\ncaused by: Error: y`)
})

test('what has no map, a broken one, or lies elsewhere stays as it is', () => {
  const read = createStackReader(bundles)
  for (const file of ['bundle/none.js', 'bundle/broken.js', 'elsewhere/main.js', 'bundle/../elsewhere/main.js']) {
    const stack = `Error: x\n    at send (file://${place}/${file}:1:1)\n    at node:net:341:7`
    expect(read(stack)).toBe(stack)
  }
})
