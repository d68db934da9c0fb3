// What the bench's scenario `numbers` can be asked for, and the world that it plays: how a provider writes whom a message
// went to, and how late messages come.
import { parseArgs } from 'node:util'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createLateness } from '../../bench/lateness.ts'
import { manyOf, NUMBERS_RULES, NUMBERS_SHAPE } from '../../bench/numbers-options.ts'
import { WA_IDS, waIdOf } from '../../bench/wa-ids.ts'
import { NotWithin, within } from '../../bench/within.ts'

const schema = z.object(NUMBERS_SHAPE)
const typed = (...args: string[]) => schema.safeParse(parseArgs({ args, options: NUMBERS_RULES }).values)
const read = (...args: string[]) => manyOf(schema.parse(parseArgs({ args, options: NUMBERS_RULES }).values))

test('without options thirty numbers send single marketing templates in a world that does nothing else', () => {
  expect(read()).toEqual({
    ...{ numbers: 30, pace: 80, kind: 'single', category: 'marketing', answer: { low: 300, high: 300 } },
    ...{ waId: 'plain', tls: 'none', busy: 0, redisLateMs: 0, workers: 1 },
  })
})

test('each part of the world can be set by an option', () => {
  const words = ['--kind', 'campaign', '--category', 'both', '--busy', '2', '--redis-late-ms', '5', '--wa-id', 'mixed']
  expect(read(...words, '--answer-ms', 'lognormal:200,3000')).toMatchObject({
    ...{ kind: 'campaign', category: 'both', busy: 2, redisLateMs: 5, waId: 'mixed' },
    answer: { low: 200, high: 3_000 },
  })
})

test.each([
  ['--kind', 'batch'],
  ['--category', 'authentication'],
  ['--busy', '-1'],
  ['--busy', 'two'],
  ['--redis-late-ms', '0.5'],
  ['--wa-id', 'plus,spaced'],
  ['--answer-ms', 'lognormal:3000,200'],
  ['--tls', 'h3'],
])('%s %s is refused by name', (option, value) => {
  const { error } = typed(`${option}=${value}`)
  expect(error?.issues.map(({ path }) => `--${path.join('.')}`)).toEqual([option])
})

test('a number has the digits of the recipient, however a provider writes it', () => {
  for (const how of WA_IDS) {
    for (let n = 0; n < 12; n += 1) {
      for (const to of ['491700000001', '+491700000001']) {
        expect(waIdOf(to, how, n).replace(/^00/, '').replace(/\D/g, '')).toBe('491700000001')
      }
    }
  }
})

test('mixed answers have every spelling: digits, a plus, blanks, and 00 in front', () => {
  const spelled = new Set(Array.from({ length: 6 }, (_, n) => waIdOf('+491700000001', 'mixed', n)))
  expect(spelled).toEqual(new Set(['491700000001', '+491700000001', '+49 1700 000001', '00491700000001']))
})

test('a number that sends evenly is never late, and one that sends a second at once is late once a second', () => {
  const lateness = createLateness(100)
  for (let ms = 0; ms < 5_000; ms += 10) lateness.arrived('even', ms)
  expect(lateness.report()).toEqual({ p50: 0, p99: 0 })
  for (let second = 0; second < 50; second += 1) {
    for (let n = 0; n < 50; n += 1) lateness.arrived('bursts', second * 1_000)
  }
  lateness.restart()
  expect(lateness.report()).toEqual({ p50: 0, p99: 0 })
  for (let second = 50; second < 100; second += 1) {
    for (let n = 0; n < 50; n += 1) lateness.arrived('bursts', second * 1_000)
  }
  expect(lateness.report()).toEqual({ p50: 0, p99: 990 })
})

test('without a limit nothing is late', () => {
  const lateness = createLateness(0)
  for (const ms of [0, 1_000, 9_000]) lateness.arrived('any', ms)
  expect(lateness.report()).toEqual({ p50: 0, p99: 0 })
})

test('a scenario that does not end is given up, and one that ends in time keeps its figures and its errors', async () => {
  await expect(within(1, new Promise(() => {}))).rejects.toThrow(NotWithin)
  await expect(within(60_000, Promise.resolve(['figure']))).resolves.toEqual(['figure'])
  await expect(within(60_000, Promise.reject(new Error('its own')))).rejects.toThrow('its own')
})
