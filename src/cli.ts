// The command line: `npm run cli -- <noun> <verb>`. Answers go to stdout, errors as one sentence to stderr; the exit
// code is 0, 1 when something could not be done, 2 when something was typed wrongly.
import { CommanderError } from 'commander'
import { explain } from './cli/failure.ts'
import { createProgram } from './cli/program.ts'

// A reader that has seen enough, such as `| head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

const words = process.argv.slice(2)
try {
  // The exit code is set, not forced by process.exit, so that a pipe gets all of the answer.
  await createProgram().parseAsync(words.length === 0 ? ['--help'] : words, { from: 'user' })
} catch (error) {
  if (error instanceof CommanderError) {
    // Commander has printed its sentence, or the help, already.
    process.exitCode = error.exitCode === 0 ? 0 : 2
  } else {
    const known = explain(error)
    if (known === undefined) throw error
    process.stderr.write(`error: ${known.sentence}\n`)
    process.exitCode = known.exitCode
  }
}
