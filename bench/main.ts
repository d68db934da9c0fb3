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
import { createProgress } from './progress.ts'
import { typedAnswerTime } from './provider-contract.ts'
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

Without a name all are run, which takes some twenty minutes, and an hour with --full. The scenario files needs
Swift, an S3 server, and is passed over without, as is campaign-days without libfaketime.

  --rounds <n>     rounds that count, after one that warms up (default 3)
  --seconds <n>    how long each round of a timed scenario loads one contender (default 5)
  --full           the sizes of the goals where the default is smaller: a million waiting, ten minutes of memory
  --people <n>     recipients of campaign and campaign-days, rows of the import (default 100000, with --full 1000000;
                   of campaign-speed 20000, of files 20000); messages that wait in console (default 300000),
                   that find looks through (default 1000000)
  --lanes <n>      lanes of idle-lanes and scrape (default 1000)
  --workers <n>    workers of idle-lanes (default 4)
  --numbers <n>    of numbers: how many there are (default 30),
  --pace <n>       messages a second of each, 0 for no limit (default 80),
  --answer-ms <t>  time until the provider answers, ms, or lognormal:200,3000 with 5 % of the answers below and
                   above (default 300),
  --tls <how>      none, h1 or h2 (default none),
  --category <c>   marketing or utility: what its templates are (default marketing),
  --busy <n>       processes beside it that compute all the time (default 0); all of these with --seconds 30 and
                   --workers 1 if not given
  --json <file>    also write the figures, machine and versions as JSON; - for standard output
  --profile <dir>  write CPU profiles of Laneway's processes there
  --help`

const RULES = {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string' },
    numbers: { type: 'string', default: '30' },
    pace: { type: 'string', default: '80' },
    'answer-ms': { type: 'string', default: '300' },
    tls: { type: 'string', default: 'none' },
    category: { type: 'string', default: 'marketing' },
    busy: { type: 'string', default: '0' },
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
  rounds: typedWholeNumber(1, 1_000),
  seconds: typedNumber(0.1, 86_400).optional(),
  numbers: typedWholeNumber(1, 10_000),
  pace: typedNumber(0, 1_000),
  'answer-ms': typedAnswerTime,
  tls: z.enum(['none', 'h1', 'h2']),
  category: z.enum(['marketing', 'utility']),
  busy: typedWholeNumber(0, 64),
  people: typedWholeNumber(1, 1e9).optional(),
  lanes: typedWholeNumber(1, 1e6).optional(),
  workers: typedWholeNumber(1, 1_000).optional(),
})
const { rounds, seconds, people, lanes: laneCount, workers, ...many } = readOptions(sizesSchema, values, HELP)

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
    own = createClosing()
    try {
      const found = await SCENARIOS[name]?.({
        rig,
        dir: join(dir, name),
        closing: own,
        rounds,
        seconds: seconds ?? 5,
        givenSeconds: seconds,
        many: { ...many, answer: many['answer-ms'], workers: workers ?? 1 },
        full: values.full,
        people,
        lanes: laneCount,
        workers,
        profile,
        say: progress.say,
        progress: (doing) => progress.show(`${name}: ${doing}`),
      })
      figures.push(...(found ?? []))
    } catch (error) {
      isBroken = true
      progress.say(`${name} failed: ${error instanceof Error ? error.message : String(error)}`)
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
  const asked = { ...many, workers: workers ?? 1 }
  const json = `${JSON.stringify({ machine, asked, figures }, undefined, 2)}\n`
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
