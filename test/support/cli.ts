// Runs the command line: the compiled program as its user does, or the same inside the test where a process does not
// matter, which takes a twentieth of the time.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { runCommandLine } from '../../src/cli/program.ts'

export interface CliRun {
  code: number | null
  stdout: string
  stderr: string
}

/** What a verb answers with `--json`: of one that is a route the `data` of its body, else the whole document. */
export function documentIn(stdout: string) {
  const body = JSON.parse(stdout)
  return body?.status === true && 'data' in body ? body.data : body
}

/** Runs one command line in this process, with exactly these variables and `input` on its standard input. */
export async function runCli(
  words: readonly string[],
  env: Record<string, string>,
  input: string | Readable = '',
): Promise<CliRun> {
  const stdin = typeof input === 'string' ? Readable.from([input]) : input
  const terminal = { stdin, stdout: new PassThrough(), stderr: new PassThrough(), env }
  const written = Promise.all([text(terminal.stdout), text(terminal.stderr)])
  const code = await runCommandLine(words, terminal)
  terminal.stdout.end()
  terminal.stderr.end()
  const [stdout, stderr] = await written
  return { code, stdout, stderr }
}

/** The same at a terminal, where a person types `answer`. */
export async function runAtTerminal(
  words: readonly string[],
  env: Record<string, string>,
  answer: string,
): Promise<CliRun> {
  return runCli(words, env, Object.assign(Readable.from([`${answer}\n`]), { isTTY: true }))
}

/** The same in a process of its own, from dist/. */
export async function spawnCli(words: readonly string[], env: Record<string, string>, input = ''): Promise<CliRun> {
  const child = spawn(process.execPath, ['dist/cli.js', ...words], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 600_000,
  })
  // A command that does not read its input may be gone before it is written.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}
