// The command line as a whole: nouns, their verbs, and the help on every level.

import type { Readable, Writable } from 'node:stream'
import { Command } from 'commander'
import { loadConfig } from '../config.ts'
import { openFiles } from '../files/open.ts'
import { VERSION } from '../version.ts'
import { accounts } from './accounts.ts'
import { activity } from './activity.ts'
import { campaigns } from './campaigns/campaigns.ts'
import { contacts } from './contacts.ts'
import { events } from './events.ts'
import { keys } from './keys.ts'
import { lanes } from './lanes.ts'
import { messages } from './messages.ts'
import { people } from './people.ts'
import { withRedis } from './redis-session.ts'
import { secrets } from './secrets.ts'
import { senders } from './senders.ts'
import { stats } from './stats.ts'
import { tellActs } from './tell-acts.ts'
import { templates } from './templates.ts'
import { top } from './top/top.ts'
import type { Noun, Verb } from './verb.ts'

const NOUNS: readonly Noun[] = [
  accounts,
  keys,
  senders,
  secrets,
  templates,
  contacts,
  messages,
  lanes,
  campaigns,
  events,
  people,
  activity,
  stats,
  top,
]

/** How a person calls the command line. */
const PROGRAM = 'npm run cli --'

const ABOUT = `
It finds Redis through REDIS_URL, or else through the data folder of a running \`npm start\`.
For scripts: npm run --silent cli -- <noun> <verb> --json (without --silent, npm itself prints two lines first).

Example:
  ${PROGRAM} accounts list`

/** Where a command line is typed and answered. */
export interface Terminal {
  stdin: Readable
  stdout: Writable
  stderr: Writable
  /** The environment; this process's own when left out. */
  env?: Record<string, string>
}

/** Its `parseAsync` runs one command line, and throws commander's errors, CliFailure, and what the work itself throws. */
export function createProgram(terminal: Terminal): Command {
  const program = new Command(PROGRAM)
    .description(
      'Manages Laneway: accounts, keys, senders, templates, contacts, messages, lanes, campaigns and events; shows what was sent.',
    )
    .usage('<noun> <verb> [options]')
    .version(VERSION, '--version', 'print the version of Laneway')
    .addHelpText('after', ABOUT)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
    })
  for (const noun of NOUNS) {
    const command = program
      .command(noun.name)
      .description(noun.summary)
      .usage('<verb> [options]')
      .addHelpText('after', `\nExample:\n  ${PROGRAM} ${noun.name} ${noun.verbs[0]?.usage.split(' ')[0]} --help`)
    for (const verb of noun.verbs) addVerb(command, verb, terminal)
  }
  return program
}

function addVerb(noun: Command, verb: Verb, terminal: Terminal): void {
  const command = noun.command(verb.usage, { isDefault: verb.isDefault === true }).description(verb.summary)
  for (const [flags, meaning] of Object.entries(verb.options)) {
    if (flags.startsWith('!')) command.requiredOption(flags.slice(1), `${meaning} (required)`)
    else command.option(flags, meaning)
  }
  command
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', `\nExample:\n  ${PROGRAM} ${noun.name()} ${command.name()} ${verb.example}`)
    .action(async () => {
      const { json, ...options } = command.opts<Record<string, unknown>>()
      const work = verb.prepare({ ...options, ...argumentsOf(command) }, (name) => spellingOf(name, command))
      const config = loadConfig(terminal.env)
      const { stdin, stderr } = terminal
      const answer = await withRedis(config, async (redis) => {
        const files = await openFiles(config)
        const made = await work({ redis, config: { ...config, files }, stdin, stderr }).finally(files.close)
        await tellActs(redis, verb.act, made.acted)
        return made
      })
      terminal.stdout.write(`${json ? JSON.stringify(answer.json, null, 2) : answer.text}\n`)
    })
}

function argumentsOf(command: Command): Record<string, unknown> {
  return Object.fromEntries(command.registeredArguments.map((argument, i) => [argument.name(), command.args[i]]))
}

/** A value as it is typed: `--phone-number-id`, or `<id>` for an argument. */
function spellingOf(name: string, command: Command): string {
  const option = command.options.find((each) => each.attributeName() === name)
  return option?.long ?? `<${name}>`
}
