// Pins: each file of src/ has one idea, which its head names. A comment that stands alone further down is the head of a second
// idea, which needs a file of its own.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const SRC = resolve(import.meta.dirname, '../../src')
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => ({ name, text: readFileSync(join(SRC, name), 'utf8') }))

/** Lines of comment at the margin with an empty line on either side. */
const ALONE = /(?<=\n\n)(?:\/\/.*\n)+(?=\n|$)/g

test('each file begins with a comment that describes it', () => {
  expect(files.filter(({ text }) => !/^(#!.*\n)?\/\/ ./.test(text)).map(({ name }) => name)).toEqual([])
})

test('no file has a second such comment', () => {
  const second = files.flatMap(({ name, text }) =>
    [...text.matchAll(ALONE)].map(([head]) => `${name}: ${head.split('\n')[0]}`),
  )
  expect(second).toEqual([])
})

test('a second such comment is detected, and one directly above code is allowed', () => {
  const heads = (text: string): string[] => [...text.matchAll(ALONE)].map(([head]) => head)
  expect(heads('// One.\n\nimport a\n\n// Two,\n// in two lines.\n\nconst b = 1\n')).toEqual([
    '// Two,\n// in two lines.\n',
  ])
  expect(heads('// One.\n\n// On b.\nconst b = 1\n\n  // Indented.\n\n')).toEqual([])
})
