// What all verbs have in common: how they are declared, and how what was typed is checked.
import type { Readable, Writable } from 'node:stream'
import type { z } from 'zod'
import type { Config } from '../config.ts'
import type { FileStore } from '../files/store.ts'
import { faultsOf } from '../messages/fault.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'

/** What a verb answers: one document for scripts (`--json`), or lines for people. */
export interface Answer {
  json: unknown
  text: string
  /** Of a verb with an `act`: what was done to what. Without it, nothing was done. */
  acted?: Acted | readonly Acted[] | undefined
}

/** What of an act only its verb knows: ids, names, words and figures; never a number, a text or a secret. */
export interface Acted {
  /** NO_ACCOUNT where it is of the installation. */
  account: number
  target?: string | undefined
  detail?: string | undefined
}

/** What a verb works with. Answers are returned, never written: `stderr` is for progress only. */
export interface CommandContext {
  redis: Redis
  config: Config & { files: FileStore }
  stdin: Readable
  stderr: Writable
}

/** How a verb is called. */
interface Usage {
  /** Name and arguments: `revoke <id>`. */
  usage: string
  summary: string
  /** Done when the noun stands alone. */
  isDefault?: true
  /** What the activity calls it, such as `lane.pause`, where it changes something that a person answers for. */
  act?: string
  /** The rest of a command line that works, after noun and verb. */
  example: string
  /** Flags and what they mean. Those that begin with `!` must be given. */
  options: Readonly<Record<string, string>>
}

/** A command of a noun. */
export interface Verb extends Usage {
  /**
   * Checks arguments and options, each under its camel-cased name, and returns the work to do. Throws a CliFailure that
   * names all that was typed wrongly; `spelling` turns a name back into what is typed, `--expires-in` or `<id>`.
   */
  prepare(
    typed: Record<string, unknown>,
    spelling: (name: string) => string,
  ): (context: CommandContext) => Promise<Answer>
}

/** A group of verbs. */
export interface Noun {
  name: string
  summary: string
  verbs: readonly Verb[]
}

/** Declares a verb: `values` is the schema of its arguments and options together, `run` gets what it makes of them. */
export function verb<S extends z.ZodType>(
  declared: Usage & { values: S; run: (values: z.output<S>, context: CommandContext) => Promise<Answer> },
): Verb {
  const { values, run, ...usage } = declared
  return {
    ...usage,
    prepare(typed, spelling) {
      const parsed = values.safeParse(typed)
      if (parsed.success) return (context) => run(parsed.data, context)
      const sentences = faultsOf(parsed.error, typed).map(({ path, message }) => `${spelling(path)}: ${message}.`)
      throw new CliFailure(sentences.join(' '), 2)
    },
  }
}
