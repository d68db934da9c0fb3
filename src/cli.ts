// The command line: `npm run cli -- <noun> <verb>`.
import './kernel/without-debug.ts'

import { runCommandLine } from './cli/program.ts'

// Node looks sources up only when an error is printed: a part does not, as it asks for stacks that nobody reads.
process.setSourceMapsEnabled(true)

// A reader that has seen enough, such as `| head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error
})

// What nobody expected ends with its cause and a code as well; half an answer must not look like a whole one.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    process.stderr.write(`error: this was not expected: ${error instanceof Error ? error.stack : String(error)}\n`)
    process.exit(1)
  })
}

// The exit code is set, not forced by process.exit, so that a pipe gets all of the answer.
const { stdin, stdout, stderr } = process
process.exitCode = await runCommandLine(process.argv.slice(2), { stdin, stdout, stderr })
