// The command line as a whole: nouns, their verbs, the help on every level, and how one command line is run to its exit code.
import { Command, CommanderError } from 'commander'
import { VERSION } from '../kernel/version.ts'
import type { Terminal } from './run-verb.ts'
import type { Verb } from './verb.ts'

/** The meaning of a first word that several verbs share, as in `events endpoints list`. */
type Groups = Readonly<Record<string, string>>

/** A group of verbs. They are loaded only when their noun is typed. */
interface Noun {
  summary: string
  load: () => Promise<{ verbs: readonly Verb[]; groups?: Groups }>
  /** Another word that people type for it. */
  alias?: string
}

const NOUNS: Readonly<Record<string, Noun>> = {
  accounts: {
    summary: 'the owners of keys, senders, templates and contacts',
    load: () => import('./accounts.ts'),
  },
  keys: { summary: 'API keys of applications and people', load: () => import('./keys.ts') },
  senders: {
    summary: 'the numbers that messages are sent from, each with its provider',
    load: () => import('./senders.ts'),
  },
  portfolios: {
    summary: 'numbers that share one daily limit of people at WhatsApp',
    load: () => import('./portfolios.ts'),
  },
  secrets: {
    summary: 'what is sealed under LANEWAY_SECRET_KEYS: tokens of providers and webhook secrets',
    load: () => import('./secrets.ts'),
  },
  templates: {
    summary: 'the approved templates that messages are validated against',
    load: () => import('./templates.ts'),
  },
  contacts: { summary: 'contacts, grouped by tag', load: () => import('./contacts.ts') },
  messages: { summary: 'send, list, look up, cancel and requeue messages', load: () => import('./messages.ts') },
  lanes: { summary: 'status of each sender: backlog, pace, pause, cooldown', load: () => import('./lanes.ts') },
  campaigns: { summary: 'one template to many people', load: () => import('./campaigns.ts') },
  events: { summary: 'endpoints that events are posted to', load: () => import('./events.ts') },
  flows: { summary: 'forms of WhatsApp that ask your own server', load: () => import('./flows.ts') },
  'opt-outs': { summary: 'people who want no advertising', load: () => import('./opt-outs.ts') },
  people: { summary: 'show all that is kept of a person, or forget it', load: () => import('./people.ts') },
  notices: {
    summary: "WhatsApp's updates of accounts, numbers and templates",
    load: async () => ({ verbs: (await import('./activity.ts')).noticeVerbs }),
  },
  activity: { summary: 'who did what and when, kept for 90 days', load: () => import('./activity.ts') },
  stats: { summary: 'what was accepted, sent, delivered and failed lately', load: () => import('./stats.ts') },
  health: {
    summary: 'whether Redis answers and a worker is alive',
    load: () => import('./health.ts'),
    alias: 'status',
  },
  top: { summary: 'lanes and campaigns live, with keys to pause and resume', load: () => import('./top.ts') },
}

/** Words that people type for a noun and that do not look like it. The console calls its page "Event endpoints". */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['endpoint', 'events endpoints'],
  ['webhook', 'events endpoints'],
  ['number', 'senders'],
  ['queue', 'lanes'],
  ['tag', 'contacts'],
])

/** How a person calls the command line. */
const PROGRAM = 'npm run cli --'

const ABOUT = `
It finds Redis through REDIS_URL, or else through the data folder of a running \`npm start\`.
For scripts: npm run --silent cli -- <noun> <verb> --json (without --silent, npm itself prints two lines first).

Example:
  ${PROGRAM} accounts list`

/**
 * Runs one command line to its exit code: 0, 1 when something could not be done, 2 when something was typed wrongly. Answers
 * go to stdout, errors as one sentence to stderr. Rejects only with an error that nobody expected.
 */
export async function runCommandLine(words: readonly string[], terminal: Terminal): Promise<0 | 1 | 2> {
  try {
    const program = await createProgram(terminal, words)
    await program.parseAsync(words.length === 0 ? ['--help'] : typedTo(program, words), { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its sentence, or the help, already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const { explain } = await import('./failure.ts')
    const known = explain(error)
    if (known === undefined) throw error
    terminal.stderr.write(`error: ${known.sentence}\n`)
    return known.exitCode
  }
}

/** The program, with the verbs of the nouns among these words, or of all nouns. */
export async function createProgram(
  terminal: Terminal,
  words = Object.keys(NOUNS) as readonly string[],
): Promise<Command> {
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
  for (const [name, { summary, load, alias }] of Object.entries(NOUNS)) {
    const noun = program.command(name).description(summary).usage('<verb> [options]')
    if (alias !== undefined) noun.alias(alias)
    if (!words.some((word) => word === name || word === alias)) continue
    const { verbs, groups = {} } = await load()
    noun.addHelpText('after', `\nExample:\n  ${PROGRAM} ${name} ${verbs[0]?.usage.split(' ')[0]} --help`)
    for (const verb of verbs) addVerb(noun, groups, verb, terminal)
  }
  // As of `--version`: it is what people type first.
  program.command('version', { hidden: true }).action(() => void terminal.stdout.write(`${VERSION}\n`))
  return program
}

/**
 * The words, up to the first that is no command: the rest may ask for help, and would get that of the program as if nothing
 * were wrong.
 */
function typedTo(program: Command, words: readonly string[]): readonly string[] {
  let command = program
  for (const [i, word] of words.entries()) {
    const isLast = command.commands.length === 0 || withDefault.has(command)
    if (isLast || word.startsWith('-') || word === 'help') return words
    const found = command.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (found === undefined) {
      const meant = command === program ? MEANT.get(word.replace(/s$/, '')) : undefined
      if (meant !== undefined) program.error(`error: unknown command '${word}'\n(Did you mean ${meant}?)`)
      return words.slice(0, i + 1)
    }
    command = found
  }
  return words
}

/** The nouns with a verb that need not be typed. */
const withDefault = new WeakSet<Command>()

function addVerb(noun: Command, groups: Groups, verb: Verb, terminal: Terminal): void {
  const [first = '', ...rest] = verb.usage.split(' ')
  const group = groups[first]
  const parent = group === undefined ? noun : groupIn(noun, first, group)
  const usage = group === undefined ? verb.usage : rest.join(' ')
  if (verb.isDefault === true) withDefault.add(parent)
  const command = parent.command(usage, { isDefault: verb.isDefault === true }).description(verb.summary)
  if (command.name() === 'list') command.alias('ls')
  for (const { flags, meaning, isRequired } of verb.options) {
    if (isRequired) command.requiredOption(flags, `${meaning} (required)`)
    else command.option(flags, meaning)
  }
  command
    .option('--json', 'answer with one JSON document')
    .addHelpText('after', `\nExample:\n  ${PROGRAM} ${pathOf(command)} ${verb.example}`)
    .action(async () => {
      const { json, ...options } = command.opts<Record<string, unknown>>()
      const work = verb.prepare({ ...options, ...argumentsOf(command) }, (name) => spellingOf(name, command))
      // Two thirds of what a command loads, which a help does without.
      const { runVerb } = await import('./run-verb.ts')
      await runVerb(verb, work, terminal, json === true)
    })
}

/** The command of a group, made for its first verb. */
function groupIn(noun: Command, name: string, summary: string): Command {
  const known = noun.commands.find((each) => each.name() === name)
  if (known !== undefined) return known
  const example = `\nExample:\n  ${PROGRAM} ${noun.name()} ${name} list --help`
  return noun.command(name).description(summary).usage('<verb> [options]').addHelpText('after', example)
}

/** The words that lead to a command: `events endpoints list`. */
const pathOf = (command: Command): string =>
  command.parent?.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name()

function argumentsOf(command: Command): Record<string, unknown> {
  return Object.fromEntries(command.registeredArguments.map((argument, i) => [argument.name(), command.args[i]]))
}

/** A value as it is typed: `--phone-number-id`, or `<id>` for an argument. */
function spellingOf(name: string, command: Command): string {
  const option = command.options.find((each) => each.attributeName() === name)
  return option?.long ?? `<${name}>`
}
