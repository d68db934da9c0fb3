// `npm run capacity`: what an installation needs for so many messages a day, from the bench's own figures.
import { z } from 'zod'
import { misused, readCommandLine, readOptions, typedNumber, typedWholeNumber } from '../command-line.ts'
import { numbersFiles, type Origin, readCampaign, readFigures, readNumbers } from './figures.ts'
import { type Capacity, capacityOf, PROTOCOLS, type Question } from './model.ts'
import { answersOf, checkOf, errorsOf, tableOf } from './table.ts'

const HELP = `npm run capacity -- --messages-per-day 1e8 --senders 500 --retention-days 30 [options]

  --messages-per-day <n>  messages of a day, such as 1e8
  --senders <n>           numbers to send from
  --retention-days <n>    how long finished messages are kept, 9 to 365 (default 30)
  --peak <n>              busiest hour against the mean of the day (default 5)
  --answer-ms <n>         how long the provider takes to answer, ms, 1 to 60000 (default 300)
  --protocol <how>        how requests leave: h1 (HTTP/1.1, a connection for each that is in flight) or h2
                          (HTTP/2, 100 requests on a connection), both over TLS (default h1)
  --figures <file>        what \`npm run bench -- accept campaign --json <file>\` has written
                          (default bench/capacity/figures.json)
  --numbers <file>        what \`npm run bench -- numbers --tls <how> --json <file>\` has written; may be repeated
                          (default bench/capacity/numbers-*.json)
  --table                 the tables of docs/how-it-works/scale.md, in place of an answer
  --check <file>          the formula against one run of numbers, as its --json has written it, in place of
                          an answer
  --against <file>        how far these figures are off those of a campaign of another size, as
                          \`npm run bench -- campaign --json <file>\` has written them, in place of
                          an answer; may be repeated
  --json                  answer with one JSON document
  --help`

const questionSchema = z.object({
  'messages-per-day': typedNumber(1, 1e11),
  senders: typedWholeNumber(1, 1e7),
  'retention-days': typedNumber(9, 365).default(30),
  peak: typedNumber(1, 100).default(5),
  'answer-ms': typedNumber(1, 60_000).default(300),
  protocol: z.enum(PROTOCOLS).default('h1'),
})

const RULES = {
  options: {
    'messages-per-day': { type: 'string' },
    senders: { type: 'string' },
    'retention-days': { type: 'string' },
    peak: { type: 'string' },
    'answer-ms': { type: 'string' },
    protocol: { type: 'string' },
    numbers: { type: 'string', multiple: true },
    check: { type: 'string' },
    figures: { type: 'string', default: 'bench/capacity/figures.json' },
    json: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
    against: { type: 'string', multiple: true },
    help: { type: 'boolean', default: false },
  },
} as const
const NAMES = { h1: 'HTTP/1.1', h2: 'HTTP/2' } as const
const { values } = readCommandLine(RULES, HELP)
if (values.help) {
  process.stderr.write(`${HELP}\n`)
  process.exit(0)
}
const { cost, machine, numbers } = readOrEnd(() => readFigures(values.figures, values.numbers ?? numbersFiles()))
if (values.table) {
  process.stdout.write(`${tableOf(cost)}\n${answersOf(cost)}`)
  process.exit(0)
}
if (values.against !== undefined) {
  process.stdout.write(
    errorsOf(
      cost,
      readOrEnd(() => (values.against ?? []).map(readCampaign)),
    ),
  )
  process.exit(0)
}
const { check } = values
if (check !== undefined) {
  process.stdout.write(checkOf(cost, readOrEnd(() => readNumbers(check)).cost))
  process.exit(0)
}
const asked = readOptions(questionSchema, values, HELP)
const question: Question = {
  messagesPerDay: asked['messages-per-day'],
  senders: asked.senders,
  retentionDays: asked['retention-days'],
  peakFactor: asked.peak,
  answerMs: asked['answer-ms'],
  protocol: asked.protocol,
}
const capacity = capacityOf(cost, question)
process.stdout.write(
  values.json ? `${JSON.stringify({ question, cost, machine, numbers, capacity }, null, 2)}\n` : table(capacity),
)

/** What is read from files of figures. Where one is missing or is something else, ends the process with a line for each fault. */
function readOrEnd<Found>(read: () => Found): Found {
  try {
    return read()
  } catch (error) {
    if (error instanceof z.ZodError)
      return misused(
        error.issues.map(({ message }) => message),
        HELP,
      )
    return misused([error instanceof Error ? error.message : String(error)], HELP)
  }
}

function table(found: Capacity): string {
  const whole = (value: number): string => Math.ceil(value).toLocaleString('en')
  const rows = [
    ['messages a second, mean and at the peak', `${whole(found.meanPerSecond)} and ${whole(found.peakPerSecond)}`],
    ['the senders can send a second', `${whole(found.sendersPerSecond)}${found.sendersSuffice ? '' : ': TOO FEW'}`],
    ['producers (one core each)', `${found.producers}, busy for ${found.producerCores.toFixed(2)} cores`],
    ['workers (one core each)', `${found.workers}, busy for ${found.workerCores.toFixed(2)} cores`],
    ['messages in flight at the peak', whole(found.inFlight)],
    [`connections to providers, ${NAMES[question.protocol]}`, whole(found.providerConnections)],
    ['memory of a worker', found.workerMb === undefined ? 'not measured' : `${whole(found.workerMb)} MB`],
    ['Redis primaries, each with a replica', `${found.primaries}, busy for ${found.redisCores.toFixed(2)} cores`],
    ['memory of Redis in all', `${(found.redisBytes / 2 ** 30).toFixed(1)} GB`],
    ['connections to Redis, at most', whole(found.connections)],
    ['a month, US dollars', `${whole(found.monthly.compute + found.monthly.redis + found.monthly.disk)}`],
    ['a million messages, US dollars', found.perMillion.toFixed(2)],
  ]
  const width = Math.max(...rows.map(([what = '']) => what.length))
  const lines = rows.map(([what = '', value = '']) => `${what.padEnd(width)}  ${value}`)
  const unlike = found.isMeasured
    ? []
    : [
        `CPU time of workers and Redis over ${NAMES[question.protocol]} is not measured: that of a campaign in clear stands in.`,
      ]
  const origins = [machine, ...numbers].map(originOf)
  return `${[lines.join('\n'), '', ...unlike, ...new Set(origins), 'Prices and formula: docs/how-it-works/scale.md.'].join('\n')}\n`
}

function originOf({ commit, machine: on, conditions, command }: Origin): string {
  const also = [conditions, command].filter((each) => each !== undefined).map((each) => `, ${each}`)
  return `Measured at commit ${commit} on ${on}${also.join('')}.`
}
