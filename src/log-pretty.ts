// A line of the log for a person at a terminal. A pipe and a file get the JSON as it is.
//
//   03:12:44.123 WARN  laneway lane.cooldown lane=3 code=timeout failures=2

const LEVELS: Readonly<Record<number, readonly [word: string, colour: number]>> = {
  20: ['DEBUG', 90],
  30: ['INFO', 32],
  40: ['WARN', 33],
  50: ['ERROR', 31],
  60: ['FATAL', 31],
}
const DIM = 90

/** The line, which ends as it did; one that is no JSON object stays as it is. */
export function prettyLine(line: string, hasColours: boolean): string {
  const fields = parse(line)
  if (fields === undefined) return line
  const { level, time, part, msg, err, ...rest } = fields
  const paint = (text: string, colour: number): string => (hasColours ? `\u001b[${colour}m${text}\u001b[0m` : text)
  const [word, colour] = LEVELS[Number(level)] ?? [String(level), DIM]
  const pairs = Object.entries(rest).map(([name, value]) => `${paint(`${name}=`, DIM)}${shown(value)}`)
  const head = [
    paint(String(time).slice(11, 23), DIM),
    paint(word.padEnd(5), colour),
    shown(part),
    shown(msg),
    ...pairs,
  ]
  return `${head.join(' ')}\n${stackOf(err)}`
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const fields: unknown = JSON.parse(line)
    return typeof fields === 'object' && fields !== null ? { ...fields } : undefined
  } catch {
    return undefined
  }
}

/** A word as it is, all else as JSON, so that nothing that is logged can move the cursor. */
const shown = (value: unknown): string =>
  typeof value === 'string' && /^[\w.:/@+-]+$/.test(value) ? value : (JSON.stringify(value) ?? '')

/** The stack of an error below its line, without what could move the cursor. */
function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return ''
  const stack = 'stack' in error ? error.stack : 'message' in error ? error.message : ''
  if (typeof stack !== 'string' || stack === '') return ''
  const lines = stack.split('\n').map((each) => `    ${each.replace(/\p{Cc}/gu, ' ')}`)
  return `${lines.join('\n')}\n`
}
