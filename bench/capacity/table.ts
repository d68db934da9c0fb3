// The table of docs/scale.md: what installations of 100,000 to a billion messages a day need.
import type { CampaignCost } from './figures.ts'
import { capacityOf, type MessageCost, SENDER_PACE } from './model.ts'

const SIZES = [1e5, 1e6, 1e7, 1e8, 1e9]
const QUESTION = { retentionDays: 30, peakFactor: 5 }
const SECONDS_A_DAY = 86_400

const COLUMNS = [
  ...['messages a day', 'at the peak', 'numbers', 'producers', 'workers', 'primaries', 'memory', 'connections'],
  ...['a month', 'a million'],
]

const whole = (value: number): string => Math.ceil(value).toLocaleString('en')

/** Markdown, with as many numbers to send from as the peak needs. Ends with a line feed. */
export function tableOf(cost: MessageCost): string {
  const rows = SIZES.map((messagesPerDay) => {
    const peak = (messagesPerDay / SECONDS_A_DAY) * QUESTION.peakFactor
    const senders = Math.ceil(peak / SENDER_PACE)
    const found = capacityOf(cost, { ...QUESTION, messagesPerDay, senders })
    const { compute, redis, disk } = found.monthly
    return [
      ...[whole(messagesPerDay), `${whole(peak)} /s`, whole(senders), whole(found.producers), whole(found.workers)],
      ...[whole(found.primaries), `${whole(found.redisBytes / 2 ** 30)} GB`, whole(found.connections)],
      ...[`$${whole(compute + redis + disk)}`, `$${found.perMillion.toFixed(2)}`],
    ]
  })
  return aligned(COLUMNS, rows)
}

/** What the formula takes for campaigns of other sizes than its figures are from, against what those came to. */
export function errorsOf(cost: MessageCost, measured: readonly CampaignCost[]): string {
  const against = (formula: number, found: number): string => {
    const percent = (100 * (formula - found)) / found
    return `${percent > 0 ? '+' : ''}${percent.toFixed(0)} %`
  }
  const rows = measured.map(({ recipients, workerUs, redisUs, recordBytes }) => [
    whole(recipients),
    ...[`${workerUs.toFixed(0)} us`, against(cost.workerUs, workerUs)],
    ...[`${redisUs.toFixed(0)} us`, against(cost.redisUs, redisUs)],
    ...[`${recordBytes.toFixed(0)} bytes`, against(cost.recordBytes, recordBytes)],
  ])
  return aligned(['recipients', 'worker', 'formula', 'Redis', 'formula', 'record', 'formula'], rows)
}

function aligned(columns: readonly string[], rows: readonly string[][]): string {
  const widths = columns.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`
  return `${[line(columns), rule, ...rows.map(line)].join('\n')}\n`
}
