// Runs one command line to its exit code: 0, 1 when something could not be done, 2 when something was typed wrongly.
import { CommanderError } from 'commander'
import { explain } from './failure.ts'
import { createProgram, type Terminal } from './program.ts'

/** Answers go to stdout, errors as one sentence to stderr. Rejects only with an error that nobody expected. */
export async function runCommandLine(words: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  try {
    await createProgram(terminal).parseAsync(words.length === 0 ? ['--help'] : words, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its sentence, or the help, already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const known = explain(error)
    if (known === undefined) throw error
    terminal.stderr.write(`error: ${known.sentence}\n`)
    return known.exitCode
  }
}
