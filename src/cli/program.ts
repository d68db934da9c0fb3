// The command line as a whole: nouns, their verbs, and the help on every level.
import { Command } from 'commander'
import { addAccounts } from './accounts.ts'
import { addContacts } from './contacts.ts'
import { addKeys } from './keys.ts'
import { addMessages } from './messages.ts'
import { addSenders } from './senders.ts'
import { addTemplates } from './templates.ts'
import { PROGRAM } from './verb.ts'

/** Parses and runs one command line. Throws commander's errors, CliFailure, and whatever the work itself throws. */
export function createProgram(): Command {
  const program = new Command(PROGRAM)
    .description('Looks after a Laneway: accounts, keys, senders, templates, contacts and messages.')
    .usage('<noun> <verb> [options]')
    .addHelpText(
      'after',
      `
It finds Redis by REDIS_URL, else by the data folder of a running \`npm start\`.
For scripts: npm run --silent cli -- <noun> <verb> --json (without --silent, npm itself prints two lines first).

Example:
  ${PROGRAM} accounts list`,
    )
    .exitOverride()
  addAccounts(program)
  addKeys(program)
  addSenders(program)
  addTemplates(program)
  addContacts(program)
  addMessages(program)
  for (const noun of program.commands) {
    const [verb] = noun.commands
    noun.usage('<verb> [options]')
    noun.addHelpText('after', `\nExample:\n  ${PROGRAM} ${noun.name()} ${verb?.name() ?? ''} --help`)
  }
  return program
}
