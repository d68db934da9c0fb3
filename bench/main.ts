// `npm run bench`: measures Laneway against what people would otherwise run, side by side. See README.md here.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { Scenario } from './bench.ts'
import { startChild } from './child.ts'
import { createClosing } from './closing.ts'
import { misused, readCommandLine, readOptions, typedNumber, typedWholeNumber } from './command-line.ts'
import { acceptedInAll, type Rig } from './contender.ts'
import { manyOf, NUMBERS_HELP, NUMBERS_RULES, NUMBERS_SHAPE } from './numbers-options.ts'
import { createProgress } from './progress.ts'
import { type Figure, printTable, surroundings } from './report.ts'
import { accept } from './scenarios/accept.ts'
import { batch } from './scenarios/batch.ts'
import { campaign } from './scenarios/campaign.ts'
import { campaignDays } from './scenarios/campaign-days.ts'
import { campaignLatency } from './scenarios/campaign-latency.ts'
import { campaignSpeed } from './scenarios/campaign-speed.ts'
import { cluster } from './scenarios/cluster.ts'
import { consoleScenario } from './scenarios/console.ts'
import { dispatch } from './scenarios/dispatch.ts'
import { events } from './scenarios/events.ts'
import { files } from './scenarios/files.ts'
import { find } from './scenarios/find.ts'
import { growth } from './scenarios/growth.ts'
import { guards } from './scenarios/guards.ts'
import { idle } from './scenarios/idle.ts'
import { idleLanes } from './scenarios/idle-lanes.ts'
import { importContacts } from './scenarios/import.ts'
import { intake } from './scenarios/intake.ts'
import { lanes } from './scenarios/lanes.ts'
import { latency } from './scenarios/latency.ts'
import { lookups } from './scenarios/lookups.ts'
import { memory } from './scenarios/memory.ts'
import { numbers } from './scenarios/numbers.ts'
import { observed } from './scenarios/observed.ts'
import { replicas } from './scenarios/replicas.ts'
import { scrape } from './scenarios/scrape.ts'
import { webhooks } from './scenarios/webhooks.ts'
import { NotWithin, within } from './within.ts'

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  accept,
  batch,
  dispatch,
  lanes,
  numbers,
  memory,
  latency,
  growth,
  guards,
  observed,
  lookups,
  find,
  webhooks,
  events,
  idle,
  'idle-lanes': idleLanes,
  scrape,
  campaign,
  'campaign-speed': campaignSpeed,
  'campaign-latency': campaignLatency,
  'campaign-days': campaignDays,
  cluster,
  replicas,
  files,
  console: consoleScenario,
  import: importContacts,
  intake,
}

const HELP = `npm run bench -- [${Object.keys(SCENARIOS).join('|')}]... [options]

Without a name all are run, which takes some twenty minutes, and an hour with --full. A line every 15 s shows what is
being done. The scenario files needs Swift, an S3 server, and is passed over without, as is campaign-days without
libfaketime.

  --rounds <n>     rounds that count, after one that warms up (default 3, with --short 1)
  --seconds <n>    how long each round of a timed scenario loads one contender (default 5)
  --short          a quick look: one round, and of numbers 10 s after a warm-up of 5 s
  --within <n>     minutes after which a scenario is given up, and the bench ends with 1 (default 20, with --full 90)
  --full           the sizes of the goals where the default is smaller: a million waiting, ten minutes of memory
  --people <n>     recipients of campaign and campaign-days, rows of the import (default 100000, with --full 1000000;
                   of campaign-speed 20000, of files 20000); messages that wait in console (default 300000),
                   that find looks through (default 1000000)
  --lanes <n>      lanes of idle-lanes and scrape (default 1000)
  --workers <n>    workers of idle-lanes (default 4)
  --json <file>    also write the figures, machine and versions as JSON; - for standard output
  --profile <dir>  write CPU profiles of Laneway's processes there
  --help

${NUMBERS_HELP}`

const RULES = {
  allowPositionals: true,
  options: {
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    short: { type: 'boolean', default: false },
    within: { type: 'string' },
    ...NUMBERS_RULES,
    full: { type: 'boolean', default: false },
    people: { type: 'string' },
    lanes: { type: 'string' },
    workers: { type: 'string' },
    json: { type: 'string' },
    profile: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
} as const
const { values, positionals } = readCommandLine(RULES, HELP)
if (values.help) {
  process.stderr.write(`${HELP}\n`)
  process.exit(0)
}
const unknown = positionals.filter((name) => !Object.hasOwn(SCENARIOS, name))
if (unknown.length > 0) misused([`There is no scenario ${unknown.join(', ')}.`], HELP)
const sizesSchema = z.object({
  rounds: typedWholeNumber(1, 1_000).optional(),
  seconds: typedNumber(0.1, 86_400).optional(),
  within: typedNumber(0.1, 10_000).optional(),
  ...NUMBERS_SHAPE,
  people: typedWholeNumber(1, 1e9).optional(),
  lanes: typedWholeNumber(1, 1e6).optional(),
  workers: typedWholeNumber(1, 1_000).optional(),
})
const asked = readOptions(sizesSchema, values, HELP)
const { rounds, seconds, within: typedMinutes, people, lanes: laneCount, workers, ...many } = asked
const limitMs = (typedMinutes ?? (values.full ? 90 : 20)) * 60_000

const say = (line: string): void => void process.stderr.write(`${line}\n`)
const profile = values.profile === undefined ? undefined : resolve(values.profile)
if (profile !== undefined) mkdirSync(profile, { recursive: true })
const dir = mkdtempSync(join(tmpdir(), 'laneway-bench-'))
const closing = createClosing()
/** What belongs to the scenario that runs. */
let own = createClosing()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void interrupted())
const figures: Figure[] = []
let isBroken = false
try {
  const rig = await startRig()
  const progress = createProgress(say)
  for (const name of positionals.length > 0 ? positionals : Object.keys(SCENARIOS)) {
    const scenario = SCENARIOS[name]
    if (scenario === undefined) continue
    own = createClosing()
    try {
      const running = scenario({
        rig,
        dir: join(dir, name),
        closing: own,
        rounds: rounds ?? (values.short ? 1 : 3),
        seconds: seconds ?? 5,
        givenSeconds: seconds,
        many: manyOf(many, workers),
        short: values.short,
        full: values.full,
        people,
        lanes: laneCount,
        workers,
        profile,
        say: progress.say,
        progress: (doing) => progress.show(`${name}: ${doing}`),
      })
      figures.push(...(await within(limitMs, running)))
    } catch (error) {
      isBroken = true
      progress.say(`${name} failed: ${error instanceof Error ? error.message : String(error)}`)
      if (error instanceof NotWithin) {
        progress.say(`  what it did last: ${progress.last()}`)
        // It goes on until it misses what is stopped below, and would take time from the next one.
        break
      }
    } finally {
      await own.all()
      rmSync(join(dir, name), { recursive: true, force: true })
    }
  }
  progress.end()
  const total = await rig.sink.ask('total', undefined, z.number())
  if (!isBroken && total !== acceptedInAll()) {
    isBroken = true
    say(`The sink got ${total} messages, but ${acceptedInAll()} were accepted.`)
  } else if (!isBroken && total > 0) say(`The sink got exactly the ${total} messages that were accepted.`)
} finally {
  await closing.all()
  rmSync(dir, { recursive: true, force: true })
}

const machine = { ...surroundings(), command: `npm run bench -- ${process.argv.slice(2).join(' ')}` }
for (const [what, value] of Object.entries(machine)) say(`${what}: ${value}`)
printTable(figures, say)
if (values.json !== undefined) {
  const ofNumbers = { ...many, workers: workers ?? 1 }
  const json = `${JSON.stringify({ machine, asked: ofNumbers, figures }, undefined, 2)}\n`
  if (values.json === '-') process.stdout.write(json)
  else writeFileSync(values.json, json)
}
process.exit(isBroken ? 1 : 0)

async function interrupted(): Promise<void> {
  await own.all()
  await closing.all()
  rmSync(dir, { recursive: true, force: true })
  process.exit(130)
}

async function startRig(): Promise<Rig> {
  const sink = await startChild('sink')
  closing.add(() => sink.stop())
  const load = await startChild('load')
  closing.add(() => load.stop())
  return { sink, load, sinkPort: await sink.ask('port', undefined, z.number()) }
}
