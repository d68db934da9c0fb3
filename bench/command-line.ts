// How the bench reads what was typed.
import { type ParseArgsConfig, parseArgs } from 'node:util'

/** What was typed, by these rules. Where it breaks them, ends the process with one sentence and the help. */
export function readCommandLine<const Rules extends ParseArgsConfig>(
  rules: Rules,
  help: string,
): ReturnType<typeof parseArgs<Rules>> {
  try {
    return parseArgs(rules)
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    process.stderr.write(`${error.message}\n\n${help}\n`)
    process.exit(1)
  }
}
