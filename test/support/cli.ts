// Runs the compiled command line as its user does: a process of its own, its streams and its exit code.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

export interface CliRun {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs one command line with exactly these variables of Laneway's, and `input` on its standard input. */
export async function runCli(args: readonly string[], env: Record<string, string>, input = ''): Promise<CliRun> {
  const child = spawn(process.execPath, ['dist/cli.js', ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: 60_000,
  })
  // A command that does not read its input may be gone before it is written.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, stdout, stderr }
}
