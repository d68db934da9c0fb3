// What a run tells: one table of scenarios, their figures below it, and every broken promise in full.
import { type Played, verdictOf } from './play.ts'
import { type Figure, rounded } from './scenario.ts'

/** The columns of the table: the scenario first. */
export const HEADS = [
  'scenario',
  'accepted',
  'in ledger',
  'lost silently',
  'sent twice silently',
  'flagged',
  'recovery',
  'seed',
]

/** The report for people. */
export function report(played: readonly Played[]): string {
  const broken = played.filter((each) => verdictOf(each) === 'broken')
  const late = played.filter((each) => verdictOf(each) === 'late')
  const [without, scenarios] = [true, false].map((each) => played.filter(({ safeguard }) => safeguard === each))
  return [
    ...(scenarios?.length ? [table([HEADS, ...scenarios.map(row)])] : []),
    ...(without?.length
      ? ['', 'Without one safeguard each (harm must show):', table([HEADS, ...without.map(row)])]
      : []),
    ...section('Figures', played.flatMap(figuresOf)),
    ...section(
      'Skipped',
      played.flatMap(({ name, skipped }) => (skipped ? [`${name}: ${skipped}`] : [])),
    ),
    ...section('Broken promises', broken.flatMap(brokenOf)),
    ...section('Too slow to tell', late.flatMap(brokenOf)),
    '',
    inOneSentence(played.length, broken.length, late.length),
  ].join('\n')
}

function inOneSentence(played: number, broken: number, late: number): string {
  if (broken > 0) return `${broken} of ${played} scenarios broke a promise.`
  if (late > 0) {
    return `No promise was broken, but ${late} of ${played} scenarios took too long to tell: play them on a machine that does less.`
  }
  return played === 1 ? 'The scenario kept its promise.' : `All ${played} scenarios kept their promises.`
}

/** The same for programs. */
export function reportAsJson(played: readonly Played[]): object {
  return {
    kept: played.every((each) => ['kept', 'skipped'].includes(verdictOf(each))),
    scenarios: played.map(({ name, promise, safeguard, seed, seconds, finding, skipped, violations, late }) => ({
      scenario: name,
      promise,
      verdict: verdictOf({ skipped, violations, late }),
      without_a_safeguard: safeguard,
      seed,
      seconds: rounded(seconds),
      ...(skipped === undefined ? {} : { skipped }),
      ...(finding === undefined ? {} : countsOf(finding)),
      violations,
      late,
    })),
  }
}

const countsOf = ({ judgement, recoveryMs, figures }: NonNullable<Played['finding']>) => ({
  accepted: judgement.accepted,
  in_ledger: judgement.inLedger,
  lost_silently: judgement.lostSilently.length,
  sent_twice_silently: judgement.sentTwiceSilently.length,
  sent_twice: judgement.sentTwice.length,
  unsettled: judgement.unsettled.length,
  flagged: judgement.flagged.length,
  recovery_ms: recoveryMs === undefined ? null : Math.round(recoveryMs),
  figures,
})

/** The row of a scenario, a cell for each of HEADS. */
export function row({ name, seed, finding, skipped }: Played): string[] {
  if (!finding) return [name, skipped ? 'skipped' : 'broke down', '', '', '', '', '', String(seed)]
  const { judgement, recoveryMs } = finding
  const counts = [
    judgement.accepted,
    judgement.inLedger,
    judgement.lostSilently.length,
    judgement.sentTwiceSilently.length,
    judgement.flagged.length,
  ].map(String)
  return [name, ...counts, recoveryMs === undefined ? '–' : `${(recoveryMs / 1_000).toFixed(1)} s`, String(seed)]
}

/** Its figures, a line each, with the bounds that they are held to. */
export function figuresOf({ name, finding }: Played): string[] {
  return (finding?.figures ?? []).map(
    (figure) => `${name}: ${figure.what} ${rounded(figure.value)} ${boundsOf(figure)}`,
  )
}

function boundsOf({ unit, atLeast, atMost }: Figure): string {
  const bounds = [
    ...(atLeast === undefined ? [] : [`at least ${rounded(atLeast)}`]),
    ...(atMost === undefined ? [] : [`at most ${rounded(atMost)}`]),
  ]
  return bounds.length === 0 ? unit : `${unit} (${bounds.join(', ')})`
}

const brokenOf = ({ name, promise, seed, violations, late, folder }: Played): string[] => [
  `${name} (seed ${seed}): ${promise}`,
  ...[...violations, ...late].map((sentence) => `  - ${sentence}`),
  `  logs and cases: ${folder}`,
]

const section = (head: string, lines: readonly string[]): string[] =>
  lines.length === 0 ? [] : ['', `${head}:`, ...lines.map((line) => `  ${line}`)]

/** Rows as a table for a fixed width of letters; the first are the heads. */
export function table(rows: readonly string[][]): string {
  const widths = (rows[0] ?? []).map((_head, column) => Math.max(...rows.map((cells) => (cells[column] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd()
  const [head = [], ...body] = rows
  return [line(head), widths.map((width) => '─'.repeat(width)).join('  '), ...body.map(line)].join('\n')
}
