// How a verb is run once its words are read: with a connection to Redis, for an account that exists, to its answer, and written
// into the activity.
import type { Readable, Writable } from 'node:stream'
import { loadConfig } from '../kernel/config.ts'
import { CliFailure } from './failure.ts'
import { printableJson } from './print.ts'
import { existingAccount, inSession, keptAccount, recordActs } from './session.ts'
import type { Verb } from './verb.ts'

/** Where a command line is typed and answered. */
export interface Terminal {
  stdin: Readable
  stdout: Writable
  stderr: Writable
  /** The environment; this process's own when left out. */
  env?: Record<string, string>
}

/** Does the work of a verb and prints its answer. Rejects with a CliFailure after the answer when the answer is that it fails. */
export async function runVerb(
  verb: Verb,
  work: ReturnType<Verb['prepare']>,
  terminal: Terminal,
  isJson: boolean,
): Promise<void> {
  const config = loadConfig(terminal.env)
  // What is meant for another installation must not be done to the one that REDIS_URL names.
  if (config.url !== undefined) {
    throw new CliFailure('This verb needs Redis itself and asks no service: unset LANEWAY_URL, and set REDIS_URL.', 2)
  }
  const answer = await inSession(config, terminal, async (context) => {
    const { redis } = context
    if (work.account !== undefined) {
      await (verb.takesRemovedAccount ? keptAccount : existingAccount)(redis, work.account)
    }
    const made = await work.run(context)
    await recordActs(redis, verb.act, made.acted)
    return made
  })
  terminal.stdout.write(`${isJson ? printableJson(answer.json) : answer.text}\n`)
  if (answer.fails !== undefined) throw new CliFailure(answer.fails)
}
