// Pins: no source file is longer than is read in one go. What grows beyond that has a seam to be split along.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const MOST_LINES = 300

test('no source file has more than 300 lines', () => {
  const files = readdirSync('src', { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(tsx?|lua)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  const long = files.flatMap((file) => {
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n').length
    return lines > MOST_LINES ? [`${file}: ${lines}`] : []
  })
  expect(long).toEqual([])
})
