// The model of `npm run capacity`, by figures that can be followed on paper.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readFigures } from '../../bench/capacity/figures.ts'
import { between, lineThrough } from '../../bench/capacity/lines.ts'
import {
  capacityOf,
  IN_FLIGHT_EACH,
  type MessageCost,
  providerConnections,
  type Question,
  type SendingCost,
} from '../../bench/capacity/model.ts'
import { answersOf, checkOf, errorsOf, tableOf } from '../../bench/capacity/table.ts'
import { loadConfig } from '../../src/kernel/config.ts'

const cost: MessageCost = { acceptUs: 120, workerUs: 240, redisUs: 60, recordBytes: 400, sending: [] }
const question: Question = {
  ...{ messagesPerDay: 8_640_000, senders: 10, retentionDays: 30, peakFactor: 6 },
  ...{ answerMs: 300, protocol: 'h1' },
}
const at = (answerMs: number, more: Partial<SendingCost> = {}): SendingCost => ({
  ...{ protocol: 'h1', answerMs, perSecond: 2_400, workerUs: 300, redisUs: 100 },
  ...{ workerMb: 200, inFlight: 2.4 * answerMs, connections: 2.4 * answerMs },
  ...more,
})
const measured: MessageCost = {
  ...cost,
  sending: [
    at(0, { workerUs: 300, workerMb: 150 }),
    at(1_000, { workerUs: 500, workerMb: 390 }),
    at(1_000, { protocol: 'h2', workerUs: 900 }),
  ],
}

test('rates are those of the day, and the senders are compared with the peak', () => {
  const found = capacityOf(cost, question)
  expect([found.meanPerSecond, found.peakPerSecond]).toEqual([100, 600])
  expect([found.sendersPerSecond, found.sendersSuffice]).toEqual([800, true])
  expect(capacityOf(cost, { ...question, senders: 7 }).sendersSuffice).toBe(false)
})

test('cores are those of the peak at 60 % of their time, and processes at least two of a kind', () => {
  const found = capacityOf(cost, question)
  expect(found.producerCores).toBeCloseTo(0.12)
  expect(found.workerCores).toBeCloseTo(0.24)
  expect([found.producers, found.workers, found.primaries]).toEqual([2, 2, 6])
  const busy = capacityOf(cost, { ...question, peakFactor: 60 })
  expect(busy.workerCores).toBeCloseTo(2.4)
  expect(busy.workers).toBe(3)
})

test('primaries are as many as either the stored memory or the thread of each requires', () => {
  const kept = capacityOf(cost, question)
  expect(kept.redisBytes).toBeCloseTo(8_640_000 * 30 * 400 * 1.15)
  // 111 GB at 19.2 GB a node.
  expect(kept.primaries).toBe(Math.ceil(kept.redisBytes / (32 * 2 ** 30 * 0.6)))
  const short = { ...question, messagesPerDay: 86_400_000, retentionDays: 9, peakFactor: 50 }
  expect(capacityOf({ ...cost, recordBytes: 1 }, short).primaries).toBe(5)
})

test('a million messages cost the same at ten times the size, once the minimum of processes no longer decides', () => {
  const large = { ...question, messagesPerDay: 864_000_000, senders: 10_000 }
  const larger = { ...large, messagesPerDay: 8_640_000_000, senders: 100_000 }
  expect(capacityOf(cost, larger).perMillion / capacityOf(cost, large).perMillion).toBeCloseTo(1, 1)
})

test('in flight is the rate of the peak times the answer time, with a connection for each or for a hundred', () => {
  const byHttp1 = capacityOf(cost, question)
  expect([byHttp1.inFlight, byHttp1.providerConnections]).toEqual([180, 180])
  // Two workers of 90 each, with room for 25 more.
  expect(capacityOf(cost, { ...question, protocol: 'h2' }).providerConnections).toBe(4)
  expect(providerConnections('h2', 75)).toBe(1)
})

test('workers are as many as the messages in flight require, also when their cores are idle', () => {
  const slow = capacityOf(cost, { ...question, answerMs: 30_000 })
  expect([slow.inFlight, slow.workers]).toEqual([18_000, 6])
  expect(slow.workerCores).toBeCloseTo(0.24)
  // One of two can take over from the other.
  expect(2 * IN_FLIGHT_EACH).toBeLessThanOrEqual(loadConfig({}).maxInFlight)
})

test('connections to Redis depend on processes and primaries, whatever is sent', () => {
  // 2 workers of 2 and 7, 2 producers of 1, one primary.
  const small = { ...question, messagesPerDay: 1_000 }
  expect(capacityOf(cost, small).connections).toBe(2 * 9 + 2)
  const many = capacityOf(cost, { ...small, messagesPerDay: 864_000, answerMs: 60_000, peakFactor: 50, senders: 1_000 })
  expect([many.workers, many.primaries]).toEqual([10, 1])
  expect(many.connections).toBe(10 * 9 + 2)
})

test('CPU time is interpolated for the protocol, and marked when that of a campaign replaces it', () => {
  expect(capacityOf(measured, { ...question, answerMs: 500 })).toMatchObject({ isMeasured: true, workerMb: 165 })
  expect(capacityOf(measured, { ...question, answerMs: 500 }).workerCores).toBeCloseTo(0.4)
  expect(capacityOf(measured, { ...question, answerMs: 5_000 }).workerCores).toBeCloseTo(0.5)
  expect(capacityOf(measured, { ...question, protocol: 'h2' }).workerCores).toBeCloseTo(0.9)
  expect(capacityOf(measured, { ...question, protocol: 'h2' }).workerMb).toBeUndefined()
  const unmeasured = capacityOf(cost, question)
  expect([unmeasured.isMeasured, unmeasured.workerMb]).toEqual([false, undefined])
  expect(unmeasured.workerCores).toBeCloseTo(0.24)
})

test('values between points are on the line between them, and beyond them stay at the last or follow the line', () => {
  const points = [
    { x: 10, y: 100 },
    { x: 0, y: 0 },
    { x: 20, y: 100 },
  ]
  expect([-5, 0, 5, 10, 15, 25].map((x) => between(points, x))).toEqual([0, 0, 50, 100, 100, 100])
  expect([-5, 0, 10, 40].map((x) => lineThrough(points, x))).toEqual([0, 0, 50, 200])
  expect([between([], 1), lineThrough([], 1), lineThrough([{ x: 1, y: 1 }], 1)]).toEqual(Array(3).fill(undefined))
})

const cellsOf = (table: string): string[][] =>
  table.split('\n').flatMap((line) => (line.startsWith('|') ? [line.split('|').map((cell) => cell.trim())] : []))

test('a run is compared with the formula, and what was not measured has no figure', () => {
  const run = at(500, { workerUs: 380, workerMb: 250, connections: 1_300, inFlight: 1_250 })
  const rows = cellsOf(checkOf(measured, run)).slice(2)
  expect(rows.map((row) => row.slice(1, -1).join(' '))).toEqual([
    ...['messages in flight, most 1,250 1,200 -4 %', 'connections to the provider 1,300 1,200 -8 %'],
    ...["the worker's CPU a message 380 us 400 us +5 %", "Redis' CPU a message 100 us 100 us 0 %"],
    'memory of the worker 250 MB 270 MB +8 %',
  ])
  expect(cellsOf(checkOf(cost, run)).at(-1)?.slice(2, 5)).toEqual(['250 MB', '–', '–'])
  const [, , first] = cellsOf(answersOf(cost))
  expect(first?.slice(1, -1)).toEqual(['20 ms', '48', '1', '48', '–', '–', '1', '–', '–'])
  expect(cellsOf(answersOf(cost)).at(-1)?.slice(1, 5)).toEqual(['3,000 ms', '7,200', '3', '7,200'])
})

test('docs/how-it-works/scale.md shows what the formula gives for the figures of the bench', () => {
  const { cost } = readFigures('bench/capacity/figures.json')
  const page = readFileSync('docs/how-it-works/scale.md', 'utf8')
  expect(page).toContain(tableOf(cost))
  expect(page).toContain(answersOf(cost))
})

test('the result of a campaign of another size is compared with the figures, in percent of the measured value', () => {
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
