// How the bench reads what was typed. What it does not know or cannot read ends it with 2: measuring something else than was
// asked would be worse.
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { z } from 'zod'

/** What was typed, by these rules. Where it breaks them, ends the process with one sentence and the help. */
export function readCommandLine<const Rules extends ParseArgsConfig>(
  rules: Rules,
  help: string,
): ReturnType<typeof parseArgs<Rules>> {
  try {
    return parseArgs(rules)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    return misused([error.message], help)
  }
}

/** The values of options as `schema` takes them. Where it does not, ends the process with a line for each and the help. */
export function readOptions<Schema extends z.ZodType>(schema: Schema, values: object, help: string): z.output<Schema> {
  const read = schema.safeParse(values)
  return read.success ? read.data : misused(faultsOf(read.error), help)
}

/** A number that is typed, 1e8 as well. */
export const typedNumber = (least: number, most: number) => z.coerce.number('must be a number').min(least).max(most)

/** A whole one. */
export const typedWholeNumber = (least: number, most: number) => typedNumber(least, most).pipe(z.int())

const faultsOf = ({ issues }: z.ZodError): string[] =>
  issues.map(({ path, message }) => `--${path.join('.')}: ${message}`)

/** Ends the process with what is wrong, and with the help. */
export function misused(faults: readonly string[], help: string): never {
  process.stderr.write(`${faults.join('\n')}\n\n${help}\n`)
  process.exit(2)
}
