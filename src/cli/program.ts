// The command line as a whole: nouns, their verbs, the help on every level, and how one command line is run to its exit code.
import { Command, CommanderError } from 'commander'
import { z } from 'zod'
import { VERSION } from '../kernel/version.ts'
import type { ExitCode } from './failure.ts'
import type { RouteVerb } from './route-verb.ts'
import type { Terminal } from './run-verb.ts'
import type { ShownOption, Verb } from './verb.ts'
import { attributeOf, wordOf } from './words.ts'

/** The meaning of a first word that several verbs share, as in `events endpoints list`. */
type Groups = Readonly<Record<string, string>>

/** A verb that opens what it needs by itself, and writes its answer by itself. */
interface OwnVerb {
  usage: string
  summary: string
  example: string
  isDefault?: true
  options: readonly ShownOption[]
  serve(typed: Readonly<Record<string, unknown>>, terminal: Terminal): Promise<void>
}

type AnyVerb = Verb | RouteVerb | OwnVerb

interface Loaded {
  verbs: readonly AnyVerb[]
  groups?: Groups
}

/** A group of verbs. They are loaded only when their noun is typed. */
interface Noun {
  summary: string
  load: () => Promise<Loaded>
  /** Another word that people type for it. */
  alias?: string
}

type RouteVerbs = typeof import('./route-verbs.ts')
type Chosen = (all: RouteVerbs) => () => Promise<readonly RouteVerb[]>

/** The verbs of a noun that are routes and nothing more. */
const routes =
  (chosen: Chosen, groups: Groups = {}) =>
  async (): Promise<Loaded> => ({ verbs: await chosen(await import('./route-verbs.ts'))(), groups })

/** The same after verbs of its own. */
async function withRoutes(own: Promise<Loaded>, chosen: Chosen): Promise<Loaded> {
  const [{ verbs, groups = {} }, { verbs: more }] = await Promise.all([own, routes(chosen)()])
  return { verbs: [...verbs, ...more], groups }
}

const AGENTS: OwnVerb = {
  usage: 'serve',
  isDefault: true,
  summary: 'serve tools for agents (Model Context Protocol): they look, and prepare what only a person starts',
  example: '--account 1',
  options: [
    { flags: '--account <id>', meaning: 'account that an operator acts for', isRequired: false },
    {
      flags: '--url <address>',
      meaning: 'ask the service at this address, with a key, instead of Redis',
      isRequired: false,
    },
    { flags: '--key-file <file>', meaning: 'file with the key for --url, instead of LANEWAY_KEY', isRequired: false },
  ],
  async serve(typed, terminal) {
    const { serveAgents } = await import('./mcp.ts')
    const { account, url, keyFile } = servedSchema.parse(typed)
    await serveAgents({ account, url, keyFile }, terminal)
  },
}
const servedSchema = z.object({
  account: z.string().optional(),
  url: z.string().optional(),
  keyFile: z.string().optional(),
})

/** A script for each shell. */
async function completions(): Promise<Loaded> {
  const { completionScript, SHELLS } = await import('./completion.ts')
  const verbs = SHELLS.map(
    (shell): OwnVerb => ({
      usage: shell,
      summary: `print the script for ${shell}`,
      example: '',
      options: [],
      serve: async (_typed, terminal) =>
        void terminal.stdout.write(completionScript(await createProgram(terminal), shell)),
    }),
  )
  return { verbs }
}

const NOUNS: Readonly<Record<string, Noun>> = {
  accounts: {
    summary: 'the owners of keys, senders, templates and contacts',
    load: routes(({ accountVerbs }) => accountVerbs),
  },
  keys: {
    summary: 'API keys of applications and people',
    load: routes(({ keyVerbs }) => keyVerbs),
  },
  senders: {
    summary: 'the numbers that messages are sent from, each with its provider',
    load: () => import('./senders.ts'),
  },
  portfolios: {
    summary: 'numbers that share one daily limit of people at WhatsApp',
    load: routes(({ portfolioVerbs }) => portfolioVerbs),
  },
  secrets: {
    summary: 'what is sealed under LANEWAY_SECRET_KEYS: tokens of providers and webhook secrets',
    load: () => import('./secrets.ts'),
  },
  templates: {
    summary: 'the approved templates that messages are validated against',
    load: () => import('./templates.ts'),
  },
  contacts: {
    summary: 'contacts, grouped by tag',
    load: () => import('./contacts.ts'),
  },
  messages: {
    summary: 'send, list, look up, cancel and requeue messages',
    load: () => withRoutes(import('./messages.ts'), ({ messageVerbs }) => messageVerbs),
  },
  lanes: {
    summary: 'status of each sender: backlog, pace, pause, cooldown',
    load: () => import('./lanes.ts'),
  },
  campaigns: { summary: 'one template to many people', load: () => import('./campaigns.ts') },
  events: {
    summary: 'endpoints that events are posted to',
    load: routes(({ eventVerbs }) => eventVerbs, { endpoints: 'addresses that events are sent to' }),
  },
  flows: { summary: 'forms of WhatsApp that ask your own server', load: routes(({ flowVerbs }) => flowVerbs) },
  'opt-outs': {
    summary: 'people who want no advertising',
    load: () => import('./opt-outs.ts'),
  },
  people: { summary: 'show all that is kept of a person, or forget it', load: () => import('./people.ts') },
  conversations: {
    summary: 'whether a person may be sent more than templates, and their messages',
    load: routes(({ conversationVerbs }) => conversationVerbs),
  },
  tags: { summary: 'contact lists', load: routes(({ tagVerbs }) => tagVerbs) },
  gallery: {
    summary: 'folders and files that messages are sent with',
    load: routes(({ galleryVerbs }) => galleryVerbs, {
      folders: 'folders of the gallery',
      files: 'files of the gallery',
    }),
  },
  limits: {
    summary: 'what an account may use, and how much of it is used',
    load: routes(({ limitVerbs }) => limitVerbs),
  },
  'webhook-secrets': {
    summary: 'secrets of the provider webhooks of an account',
    load: routes(({ webhookSecretVerbs }) => webhookSecretVerbs),
  },
  notices: {
    summary: "WhatsApp's updates of accounts, numbers and templates",
    load: async () => ({ verbs: (await import('./activity.ts')).noticeVerbs }),
  },
  activity: { summary: 'who did what and when, kept for 90 days', load: () => import('./activity.ts') },
  stats: { summary: 'what was accepted, sent, delivered and failed lately', load: () => import('./stats.ts') },
  health: {
    summary: 'whether Redis answers and a worker is alive',
    load: routes(({ healthVerbs }) => healthVerbs),
    alias: 'status',
  },
  console: { summary: 'the figures of the console, once', load: routes(({ consoleVerbs }) => consoleVerbs) },
  metrics: { summary: 'the metrics that Prometheus reads', load: routes(({ metricVerbs }) => metricVerbs) },
  openapi: {
    summary: 'the description of the HTTP interface',
    load: routes(({ descriptionVerbs }) => descriptionVerbs),
  },
  mcp: { summary: 'tools for agents, over standard input and output', load: async () => ({ verbs: [AGENTS] }) },
  completion: { summary: 'have a shell complete nouns, verbs and options', load: completions },
  top: { summary: 'lanes and campaigns live, with keys to pause and resume', load: () => import('./top.ts') },
}

/** Words that people type for a noun and that do not look like it. The console calls its page "Event endpoints". */
const MEANT: ReadonlyMap<string, string> = new Map([
  ['endpoint', 'events endpoints'],
  ['webhook', 'events endpoints'],
  ['number', 'senders'],
  ['queue', 'lanes'],
])

/** How a person calls the command line. */
const PROGRAM = 'npm run cli --'

const ABOUT = `
It finds Redis through REDIS_URL, or else through the data folder of a running \`npm start\`. With LANEWAY_URL and LANEWAY_KEY, or --url
and --key-file, verbs that are routes ask that service instead.
For scripts: npm run --silent cli -- <noun> <verb> --json (without --silent, npm itself prints two lines first).

Example:
  ${PROGRAM} accounts list`

/**
 * Runs one command line to its exit code: 0, 1 when something was refused or could not be done, 2 when something was typed wrongly, 3
 * when nobody answers. Answers go to stdout, errors as one sentence to stderr. Rejects only with an error that nobody expected.
 */
export async function runCommandLine(words: readonly string[], terminal: Terminal): Promise<0 | ExitCode> {
  try {
    const program = await createProgram(terminal, words)
    await program.parseAsync(words.length === 0 ? ['--help'] : typedTo(program, words), { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its sentence, or the help, already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    const [{ explain }, { printable }] = await Promise.all([import('./failure.ts'), import('./print.ts')])
    const known = explain(error)
    if (known === undefined) throw error
    terminal.stderr.write(`error: ${known.sentence.split('\n').map(printable).join('\n')}\n`)
    return known.exitCode
  }
}

/** All verbs that are routes, by the words that are typed for them: `events endpoints list`. */
export async function routeVerbs(): Promise<Map<string, RouteVerb>> {
  const all = new Map<string, RouteVerb>()
  for (const [noun, { load }] of Object.entries(NOUNS)) {
    for (const verb of (await load()).verbs) {
      if ('spec' in verb) all.set(`${noun} ${verb.usage.replace(/ [<[].*$/, '')}`, verb)
    }
  }
  return all
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

function addVerb(noun: Command, groups: Groups, verb: AnyVerb, terminal: Terminal): void {
  const [first = '', ...rest] = verb.usage.split(' ')
  const group = groups[first]
  const parent = group === undefined ? noun : groupIn(noun, first, group)
  const usage = group === undefined ? verb.usage : rest.join(' ')
  const isDefault = 'isDefault' in verb && verb.isDefault === true
  if (isDefault) withDefault.add(parent)
  const command = parent.command(usage, { isDefault }).description(verb.summary)
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
      const typed = { ...options, ...argumentsOf(command) }
      const spelling = (name: string): string => spellingOf(name, command)
      // Two thirds of what a command loads, which a help does without.
      if ('serve' in verb) return verb.serve(typed, terminal)
      if ('spec' in verb) {
        const request = verb.prepare(typed)
        const { runRoute } = await import('./run-route.ts')
        return runRoute(verb, request, terminal, json === true)
      }
      const work = verb.prepare(typed, spelling)
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
  return Object.fromEntries(
    command.registeredArguments.map((argument, i) => [attributeOf(argument.name()), command.args[i]]),
  )
}

/** A value as it is typed: `--phone-number-id`, or `<id>` for an argument. */
function spellingOf(name: string, command: Command): string {
  const option = command.options.find((each) => each.attributeName() === name)
  return option?.long ?? `<${wordOf(name)}>`
}
