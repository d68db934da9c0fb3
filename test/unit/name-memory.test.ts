// Pins: what answers have taught is remembered, of so many people at most, and what cannot teach anything is not asked about.
import { expect, test } from 'vitest'
import { createNameMemory } from '../../src/people/name-memory.ts'

test('the same names are new once per account, in any order', () => {
  const memory = createNameMemory()
  expect(memory.isNew(1, ['DE.1', '491'])).toBe(true)
  expect(memory.isNew(1, ['DE.1', '491'])).toBe(false)
  expect(memory.isNew(1, ['491', 'DE.1'])).toBe(false)
  expect(memory.isNew(2, ['DE.1', '491'])).toBe(true)
  expect(memory.isNew(1, ['551187654321', '5511987654321'])).toBe(true)
  expect(memory.isNew(1, ['551187654321', '5511987654321'])).toBe(false)
})

test('a user id with another number is not new, and a further form of its number is', () => {
  const memory = createNameMemory()
  memory.isNew(1, ['DE.1', '491'])
  expect(memory.isNew(1, ['DE.1', '492'])).toBe(false)
  expect(memory.isNew(1, ['0491', 'DE.1', '491'])).toBe(true)
  expect(memory.isNew(1, ['DE.1', '0491'])).toBe(false)
})

test('names that were not learned after all are new again', () => {
  const memory = createNameMemory()
  memory.isNew(1, ['DE.1', '491'])
  memory.forget(1, ['DE.1', '491'])
  expect(memory.isNew(1, ['DE.1', '491'])).toBe(true)
})

test('a memory of very many people drops the oldest', () => {
  const memory = createNameMemory()
  for (let i = 0; i <= 10_000; i += 1) expect(memory.isNew(1, [`DE.${i}`, `49${i}`])).toBe(true)
  expect(memory.isNew(1, ['DE.10000', '4910000'])).toBe(false)
  expect(memory.isNew(1, ['DE.0', '490'])).toBe(true)
})
