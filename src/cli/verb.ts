// What all verbs have in common: how they are declared, how what was typed is checked, and how they answer.
import type { Command } from 'commander'
import { z } from 'zod'
import { type Config, loadConfig } from '../config.ts'
import { faultsOf } from '../messages/fault.ts'
import type { Redis } from '../store/redis.ts'
import { CliFailure } from './failure.ts'
import { withRedis } from './redis-session.ts'

/** How a person calls the command line. */
export const PROGRAM = 'npm run cli --'

/** What a verb answers: one document for scripts (`--json`), or lines for people. */
export interface Answer {
  json: unknown
  text: string
}

/** What a verb works with. */
export interface Desk {
  redis: Redis
  config: Config
}

export interface Verb<S extends z.ZodType> {
  /** Name and arguments: `revoke <id>`. */
  usage: string
  summary: string
  /** The rest of a command line that works, after noun and verb. */
  example: string
  /** Flags and what they mean. Those that begin with `!` must be given. */
  options: Readonly<Record<string, string>>
  /** Checks arguments and options together, each under its camel-cased name. */
  values: S
  run(values: z.output<S>, desk: Desk): Promise<Answer>
}

/** Adds a verb to its noun. It answers on stdout, and throws a CliFailure that names what was typed wrongly. */
export function addVerb<S extends z.ZodType>(noun: Command, verb: Verb<S>): void {
  const command = noun.command(verb.usage).description(verb.summary)
  for (const [flags, meaning] of Object.entries(verb.options)) {
    if (flags.startsWith('!')) command.requiredOption(flags.slice(1), `${meaning} (required)`)
    else command.option(flags, meaning)
  }
  command
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', `\nExample:\n  ${PROGRAM} ${noun.name()} ${command.name()} ${verb.example}`)
    .action(async () => {
      const { json, ...options } = z.looseObject({ json: z.boolean().optional() }).parse(command.opts())
      const values = check(verb.values, { ...options, ...argumentsOf(command) }, command)
      const config = loadConfig()
      const answer = await withRedis(config, (redis) => verb.run(values, { redis, config }))
      process.stdout.write(`${json ? JSON.stringify(answer.json, null, 2) : answer.text}\n`)
    })
}

function argumentsOf(command: Command): Record<string, unknown> {
  return Object.fromEntries(command.registeredArguments.map((argument, i) => [argument.name(), command.args[i]]))
}

function check<S extends z.ZodType>(schema: S, typed: Record<string, unknown>, command: Command): z.output<S> {
  const parsed = schema.safeParse(typed)
  if (parsed.success) return parsed.data
  const sentences = faultsOf(parsed.error, typed).map((fault) => `${spelling(fault.path, command)}: ${fault.message}.`)
  throw new CliFailure(sentences.join(' '), 2)
}

/** A value as it is typed: `--phone-number-id`, or `<id>` for an argument. */
function spelling(name: string, command: Command): string {
  const option = command.options.find((each) => each.attributeName() === name)
  return option?.long ?? `<${name}>`
}
