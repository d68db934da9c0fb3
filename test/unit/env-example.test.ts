// .env.example is the settings' documentation for those who run Laneway; it must say what the schema says.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { loadConfig, settings } from '../../src/kernel/config.ts'

/** [name, value, the comment above it] of every variable. */
const entries = Array.from(
  readFileSync('.env.example', 'utf8').matchAll(/((?:^#.*\n)+)^([A-Z_]+)=(.*)$/gm),
  ([, comment = '', name = '', value = '']) => ({ name, value, comment: comment.replaceAll(/^# ?/gm, '').trim() }),
)

test('.env.example names every setting once, in the order of the schema', () => {
  expect(entries.map((entry) => entry.name)).toEqual(Object.keys(settings))
})

test('.env.example describes every setting as the schema does', () => {
  const said = Object.fromEntries(entries.map(({ name, comment }) => [name, comment.replaceAll('\n', ' ')]))
  const meant = Object.fromEntries(Object.entries(settings).map(([name, setting]) => [name, setting.description]))
  expect(said).toEqual(meant)
})

test('.env.example unchanged sets the defaults', () => {
  const example = Object.fromEntries(entries.map(({ name, value }) => [name, value]))
  expect(loadConfig(example)).toEqual(loadConfig({}))
  // And a default that the example gets wrong would be seen.
  expect(loadConfig({ ...example, LANEWAY_MAX_TRIES: '19' })).not.toEqual(loadConfig({}))
})
