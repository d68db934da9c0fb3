// The tables of docs/how-it-works/scale.md: what installations of 100,000 to a billion messages a day need, what thirty numbers need by
// how long the provider takes to answer, and how far off that is.
import type { CampaignCost } from './figures.ts'
import {
  capacityOf,
  IN_FLIGHT_EACH,
  inFlightOf,
  type MessageCost,
  type Protocol,
  providerConnections,
  SENDER_PACE,
  type SendingCost,
  sendingAt,
  workerMb,
} from './model.ts'

const SIZES = [1e5, 1e6, 1e7, 1e8, 1e9]
const QUESTION = { retentionDays: 30, peakFactor: 5, answerMs: 300 }
const ANSWERS_MS = [20, 100, 300, 1_000, 3_000]
const NUMBERS = 30
const SECONDS_A_DAY = 86_400

const COLUMNS = [
  ...['messages a day', 'at the peak', 'numbers', 'producers', 'workers', 'primaries', 'memory', 'connections'],
  ...['in flight', 'HTTP/1.1', 'HTTP/2', 'a month', 'a million'],
]

const whole = (value: number): string => Math.ceil(value).toLocaleString('en')

/** Markdown, with as many numbers to send from as the peak needs. Ends with a line feed. */
export function tableOf(cost: MessageCost): string {
  const rows = SIZES.map((messagesPerDay) => {
    const peak = (messagesPerDay / SECONDS_A_DAY) * QUESTION.peakFactor
    const senders = Math.ceil(peak / SENDER_PACE)
    const asked = { ...QUESTION, messagesPerDay, senders }
    const found = capacityOf(cost, { ...asked, protocol: 'h1' })
    const byHttp2 = capacityOf(cost, { ...asked, protocol: 'h2' })
    const { compute, redis, disk } = found.monthly
    return [
      ...[whole(messagesPerDay), `${whole(peak)} /s`, whole(senders), whole(found.producers), whole(found.workers)],
      ...[whole(found.primaries), `${whole(found.redisBytes / 2 ** 30)} GB`, whole(found.connections)],
      ...[whole(found.inFlight), whole(found.providerConnections), whole(byHttp2.providerConnections)],
      ...[`$${whole(compute + redis + disk)}`, `$${found.perMillion.toFixed(2)}`],
    ]
  })
  return aligned(COLUMNS, rows)
}

/** Markdown: what thirty numbers at their pace need, by how long the provider takes to answer. */
export function answersOf(cost: MessageCost): string {
  const perSecond = NUMBERS * SENDER_PACE
  const rows = ANSWERS_MS.map((answerMs) => {
    const inFlight = inFlightOf(perSecond, answerMs)
    const workers = Math.max(1, Math.ceil(inFlight / IN_FLIGHT_EACH))
    const by = (protocol: Protocol): string[] => {
      const { workerUs, isMeasured } = sendingAt(cost, protocol, answerMs)
      const memory = workerMb(cost, protocol, inFlight / workers)
      return [
        whole(workers * providerConnections(protocol, inFlight / workers)),
        isMeasured ? ((perSecond * workerUs) / 1e6).toFixed(2) : NOT_MEASURED,
        memory === undefined ? NOT_MEASURED : `${whole(memory)} MB`,
      ]
    }
    return [`${whole(answerMs)} ms`, whole(inFlight), whole(workers), ...by('h1'), ...by('h2')]
  })
  const columns = (protocol: string): string[] => [`${protocol}: connections`, 'cores', 'memory of each']
  return aligned(['answer after', 'in flight', 'workers', ...columns('HTTP/1.1'), ...columns('HTTP/2')], rows)
}

/** Markdown: what the formula makes of one run of the scenario `numbers`, against what that came to. */
export function checkOf(cost: MessageCost, measured: SendingCost): string {
  const { protocol, answerMs, perSecond } = measured
  const inFlight = inFlightOf(perSecond, answerMs)
  const sending = sendingAt(cost, protocol, answerMs)
  const memory = workerMb(cost, protocol, inFlight)
  const row = (what: string, unit: string, formula: number | undefined, found: number): string[] => [
    ...[what, `${whole(found)}${unit}`],
    ...(formula === undefined ? [NOT_MEASURED, NOT_MEASURED] : [`${whole(formula)}${unit}`, against(formula, found)]),
  ]
  const cpu = (us: number): number | undefined => (sending.isMeasured ? us : undefined)
  return aligned(
    ['what', 'measured', 'formula', 'off'],
    [
      row('messages in flight, most', '', inFlight, measured.inFlight),
      row('connections to the provider', '', providerConnections(protocol, inFlight), measured.connections),
      row("the worker's CPU a message", ' us', cpu(sending.workerUs), measured.workerUs),
      row("Redis' CPU a message", ' us', cpu(sending.redisUs), measured.redisUs),
      row('memory of the worker', ' MB', memory, measured.workerMb),
    ],
  )
}

const NOT_MEASURED = '–'

/** What the formula takes, in percent of what was found. */
function against(formula: number, found: number): string {
  const percent = (100 * (formula - found)) / found
  return `${percent > 0 ? '+' : ''}${percent.toFixed(0)} %`
}

/** What the formula takes for campaigns of other sizes than its figures are from, against what those came to. */
export function errorsOf(cost: MessageCost, measured: readonly CampaignCost[]): string {
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
