// Holds dead code away. The compiler reports what a file declares and never uses, but not what it exports: a value that is
// exported is named in another file, be it a test, and a type at least once more in its own.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const FOLDERS = ['src', 'packages/client/src', 'packages/console', 'packages/simulator', 'test', 'bench', 'scripts']

const texts = new Map(
  FOLDERS.flatMap((folder) => readdirSync(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && /\.(tsx?|mjs)$/.test(entry.name) && !entry.parentPath.includes('node_modules'))
    .map((entry) => join(entry.parentPath, entry.name))
    .map((file) => [file, readFileSync(file, 'utf8')] as const),
)

/** By each word, how often it stands in which file. */
const words = new Map<string, Map<string, number>>()
for (const [file, text] of texts) {
  for (const [word] of text.matchAll(/\w+/g)) {
    const files = words.get(word) ?? new Map<string, number>()
    words.set(word, files.set(file, (files.get(file) ?? 0) + 1))
  }
}

const EXPORTED = /^export (?:async )?(?:(const|function\*?|class)|interface|type) (\w+)/gm

test('no export is unused', () => {
  const unused = [...texts].flatMap(([file, text]) =>
    [...text.matchAll(EXPORTED)].flatMap(([, value, name = '']) => {
      const files = words.get(name) ?? new Map<string, number>()
      const isUsed = files.size > 1 || (value === undefined && (files.get(file) ?? 0) > 1)
      return isUsed ? [] : [`${file}: ${name}`]
    }),
  )
  expect(unused).toEqual([])
})
