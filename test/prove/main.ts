// `npm run prove`: plays the scenarios, prints one table, and exits with 1 when a promise was broken, or with 3 when none
// was but the machine was too slow to tell of one.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Command, InvalidArgumentError, Option } from 'commander'
import { PAGE, recordProof, thisRun } from './last-proof.ts'
import { playAll, verdictOf } from './play.ts'
import { createLineTls, type TlsProtocol } from './provider-line.ts'
import { report, reportAsJson } from './report.ts'
import { SAFEGUARDS } from './safeguards.ts'
import { SCENARIOS } from './scenarios/all.ts'

const ALL = [...SCENARIOS, ...SAFEGUARDS]

/** The folder that scripts/run-aside.mjs made for this run. */
const place = fileURLToPath(new URL('../../..', import.meta.url))

let keep = false
// Leaving by the exit ends every process of the run.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
process.on('exit', () => {
  if (!keep) rmSync(place, { recursive: true, force: true })
})

const program = new Command('npm run prove --')
  .description('Runs real processes against the ledger of WhatsApp while they are being killed.')
  .option('--seed <number>', 'repeats the run of that seed; without it a new one is drawn', wholeNumber)
  .option('--only <names>', 'only these scenarios, separated by commas', namesOfScenarios)
  .option('--full', 'at the size of the published figures, one scenario at a time, and without each safeguard once')
  .addOption(
    new Option('--tls <protocol>', 'workers reach WhatsApp over TLS, by HTTP/1.1 or HTTP/2').choices(['h1', 'h2']),
  )
  .option('--list', 'prints the scenarios with what each must show, and plays none')
  .option('--json', 'prints JSON instead of the table')
  .addOption(new Option('--record', `keeps what was printed of each scenario in ${PAGE}`).conflicts('tls'))
  // 1 says that something was found.
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : 2))
  .addHelpText('after', `\nScenarios:\n${listOf('  ')}`)
  .parse()
const {
  seed = Date.now() % 1_000_000,
  only,
  full = false,
  json = false,
  record = false,
  list = false,
  tls: protocol,
} = program.opts<{
  seed?: number
  only?: string[]
  full?: true
  json?: true
  record?: true
  list?: true
  tls?: TlsProtocol
}>()
if (list) {
  process.stdout.write(`${listOf('')}\n`)
  process.exit(0)
}

const begunAt = performance.now()
const say = (line: string): void => {
  process.stderr.write(`${((performance.now() - begunAt) / 1_000).toFixed(1).padStart(6)} s  ${line}\n`)
}
const tls = protocol && createLineTls(protocol, join(place, 'tls'))
say(`seed ${seed}${tls ? `, over TLS by ${tls.protocol === 'h1' ? 'HTTP/1.1' : 'HTTP/2'}` : ''}`)
const run = record ? thisRun(full) : undefined
const chosen = only === undefined ? (full ? ALL : SCENARIOS) : ALL.filter(({ name }) => only.includes(name))
const played = await playAll(chosen, { seed, build: join(place, 'dist'), place, full, tls, say })
if (run !== undefined) {
  recordProof(
    played,
    run,
    ALL.map(({ name }) => name),
  )
}
const verdicts = new Set(played.map(verdictOf))
keep = verdicts.has('broken') || verdicts.has('late')
process.stdout.write(`${json ? JSON.stringify(reportAsJson(played), null, 2) : `\n${report(played)}`}\n`)
process.exit(verdicts.has('broken') ? 1 : verdicts.has('late') ? 3 : 0)

/** The scenarios, each with its promise below its name. */
function listOf(indent: string): string {
  return ALL.map(({ name, promise }) => `${indent}${name}\n${indent}    ${promise}`).join('\n')
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of at most nine digits.')
  return Number(text)
}

function namesOfScenarios(text: string): string[] {
  const names = text.split(',')
  const unknown = names.filter((name) => !ALL.some((scenario) => scenario.name === name))
  if (unknown.length > 0) throw new InvalidArgumentError(`There is no scenario ${unknown.join(', ')}; see --help.`)
  return names
}
