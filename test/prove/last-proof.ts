// What is kept of the last run of each scenario: test/prove/last-proof.json, and docs/how-it-works/last-proof.md, which is made from it. A
// full run takes hours, so each run of `npm run prove -- --record` replaces what it has played and leaves the rest.
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cpus, loadavg, totalmem } from 'node:os'
import { z } from 'zod'
import type { Played } from './play.ts'
import { figuresOf, HEADS, row, table } from './report.ts'

/** Where the records are, and the page that is made from them, from the root of the repository. */
const RECORDS = 'test/prove/last-proof.json'
export const PAGE = 'docs/how-it-works/last-proof.md'

const runSchema = z.strictObject({
  /** What was checked out, and whether anything was changed since. */
  commit: z.string(),
  size: z.enum(['full', 'small']),
  machine: z.string(),
  /** How busy the machine was before the run (load average of a minute); null when nobody noted it. */
  load: z.number().nullable(),
})
export type Run = z.infer<typeof runSchema>

const recordSchema = z.strictObject({
  ...{ scenario: z.string(), safeguard: z.boolean() },
  ...runSchema.shape,
  /** The row of the report and its figures, as they were printed. */
  row: z.array(z.string()),
  figures: z.array(z.string()),
  /** A sentence for each promise that was broken, and for what took too long to tell. */
  broken: z.array(z.string()),
})
export type ProofRecord = z.infer<typeof recordSchema>

/** What is known of the run that begins now in this checkout. */
export function thisRun(full: boolean): Run {
  const output = (command: string, ...args: string[]): string =>
    spawnSync(command, args, { encoding: 'utf8' }).stdout?.trim() ?? ''
  // What the scenarios before it have recorded is no other program.
  const program = ['.', `:!${RECORDS}`, `:!${PAGE}`]
  const status = output('git', 'status', '--porcelain', '--untracked-files=no', '--', ...program)
  const changed = status === '' ? '' : ', changed'
  const redis = /v=(\S+)/.exec(output('redis-server', '--version'))?.[1] ?? 'unknown'
  const hardware = `${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB`
  return {
    commit: `${output('git', 'rev-parse', '--short', 'HEAD') || 'unknown'}${changed}`,
    size: full ? 'full' : 'small',
    machine: `${hardware}, Node ${process.versions.node}, Redis ${redis}`,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  }
}

/** The records after a run, in the order of `names`; of scenarios that there are no more nothing is kept. */
export function recordsAfter(
  before: readonly ProofRecord[],
  played: readonly Played[],
  run: Run,
  names: readonly string[],
): ProofRecord[] {
  const latest = new Map(before.map((record) => [record.scenario, record]))
  for (const one of played) {
    const { name, safeguard, skipped, violations, late } = one
    // One that could not be played here says nothing new.
    if (skipped !== undefined) continue
    const size = safeguard ? 'small' : run.size
    latest.set(name, {
      ...{
        scenario: name,
        safeguard,
        ...run,
        size,
        row: row(one),
        figures: figuresOf(one),
        broken: [...violations, ...late],
      },
    })
  }
  return names.flatMap((name) => latest.get(name) ?? [])
}

/** The page of these records. */
export function pageOf(records: readonly ProofRecord[]): string {
  const [without, scenarios] = [true, false].map((each) => records.filter(({ safeguard }) => safeguard === each))
  const broken = records.flatMap(({ scenario, broken: sentences }) => sentences.map((each) => `${scenario}: ${each}`))
  return `${[
    '# The last proof',
    `What \`npm run prove -- --record\` printed when each scenario was last played. The command makes this page from
\`${RECORDS}\`; it is not edited by hand. _Full_ size is that of \`--full\`; _load_ is the load average of the
machine before the run; \`--seed\` repeats a run.`,
    ...part('Scenarios', tableOf(scenarios ?? [])),
    ...part(
      'Without one safeguard each',
      tableOf(without ?? []),
      'Harm must show. Safeguards are always of the small size.',
    ),
    ...part('Broken promises', broken),
    ...part(
      'Figures',
      records.flatMap(({ figures }) => figures),
    ),
    ...part('Machines', [...new Set(records.map(({ machine }) => machine))]),
  ].join('\n\n')}\n`
}

function tableOf(records: readonly ProofRecord[]): string[] {
  if (records.length === 0) return []
  const [name = '', ...counts] = HEADS
  const rows = records.map(({ commit, size, load, row: [scenario = '', ...cells] }) => [
    ...[scenario, ...cells],
    ...[size, load === null ? '–' : String(load), commit],
  ])
  return [table([[name, ...counts, 'size', 'load', 'commit'], ...rows])]
}

const part = (head: string, lines: readonly string[], intro?: string): string[] =>
  lines.length === 0
    ? []
    : [`## ${head}`, ...(intro === undefined ? [] : [intro]), ['```text', ...lines, '```'].join('\n')]

/** The records that are kept in this checkout. */
export const readRecords = (): ProofRecord[] => z.array(recordSchema).parse(JSON.parse(readFileSync(RECORDS, 'utf8')))

/** Keeps what was played, and writes the page anew. */
export function recordProof(played: readonly Played[], run: Run, names: readonly string[]): void {
  const records = recordsAfter(readRecords(), played, run, names)
  writeFileSync(RECORDS, `${JSON.stringify(records, undefined, 2)}\n`)
  writeFileSync(PAGE, pageOf(records))
}
