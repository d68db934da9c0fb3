// The model of `npm run capacity`, by figures that can be followed on paper.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readFigures } from '../../bench/capacity/figures.ts'
import { capacityOf, type MessageCost, type Question } from '../../bench/capacity/model.ts'
import { errorsOf, tableOf } from '../../bench/capacity/table.ts'

const cost: MessageCost = { acceptUs: 120, workerUs: 240, redisUs: 60, recordBytes: 400 }
const question: Question = { messagesPerDay: 8_640_000, senders: 10, retentionDays: 30, peakFactor: 6 }

test('rates are those of the day, and the senders are held against the peak', () => {
  const found = capacityOf(cost, question)
  expect([found.meanPerSecond, found.peakPerSecond]).toEqual([100, 600])
  expect([found.sendersPerSecond, found.sendersSuffice]).toEqual([800, true])
  expect(capacityOf(cost, { ...question, senders: 7 }).sendersSuffice).toBe(false)
})

test('cores are those of the peak at 60 % of their time, and processes are two of a kind at least', () => {
  const found = capacityOf(cost, question)
  expect(found.producerCores).toBeCloseTo(0.12)
  expect(found.workerCores).toBeCloseTo(0.24)
  expect([found.producers, found.workers, found.primaries]).toEqual([2, 2, 6])
  const busy = capacityOf(cost, { ...question, peakFactor: 60 })
  expect(busy.workerCores).toBeCloseTo(2.4)
  expect(busy.workers).toBe(3)
})

test('primaries are as many as the memory of what is kept needs, or the thread of each', () => {
  const kept = capacityOf(cost, question)
  expect(kept.redisBytes).toBeCloseTo(8_640_000 * 30 * 400 * 1.15)
  // 111 GB at 19.2 GB a node.
  expect(kept.primaries).toBe(Math.ceil(kept.redisBytes / (32 * 2 ** 30 * 0.6)))
  const short = { ...question, messagesPerDay: 86_400_000, retentionDays: 9, peakFactor: 50 }
  expect(capacityOf({ ...cost, recordBytes: 1 }, short).primaries).toBe(5)
})

test('a million messages cost the same at ten times the size, once the least number of processes no longer decides', () => {
  const large = { ...question, messagesPerDay: 864_000_000, senders: 10_000 }
  const larger = { ...large, messagesPerDay: 8_640_000_000, senders: 100_000 }
  expect(capacityOf(cost, larger).perMillion / capacityOf(cost, large).perMillion).toBeCloseTo(1, 1)
})

test('docs/scale.md shows what the formula makes of the figures of the bench', () => {
  const { cost } = readFigures('bench/capacity/figures.json')
  expect(readFileSync('docs/scale.md', 'utf8')).toContain(tableOf(cost))
})

test('what a campaign of another size came to is set against the figures, in percent of what was measured', () => {
  const measured = { recipients: 10_000, workerUs: 300, redisUs: 60, recordBytes: 320 }
  const [, , row] = errorsOf(cost, [measured]).split('\n')
  expect(row?.split('|').map((cell) => cell.trim())).toEqual([
    '',
    '10,000',
    '300 us',
    '-20 %',
    '60 us',
    '0 %',
    '320 bytes',
    '+25 %',
    '',
  ])
})

test('figures that lack one are refused with its name', () => {
  expect(() => readFigures('test/fixtures/capacity/no-accept.json')).toThrow(/Laneway, CPU per message/)
})
