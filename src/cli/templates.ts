// templates: import, list, show. What is imported counts as approved by the chat product unless the file says otherwise.
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { readDefinitions } from '../accounts/commands/templates.ts'
import { importTemplate, listTemplates, removeTemplate } from '../accounts/store/templates.ts'
import type { Fault } from '../messages/fault.ts'
import type { Template } from '../messages/templates/template.ts'
import { existingAccount } from './accounts.ts'
import { CliFailure } from './failure.ts'
import { table } from './table.ts'
import { templateSummary } from './template-summary.ts'
import { jsonPath, readJson, shownFile } from './typed-file.ts'
import { accountId } from './values.ts'
import { type Noun, verb } from './verb.ts'

/** One definition, a list of them, or the answer of the chat product's own listing. */
const templateFile = z.union([
  z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data),
  z.array(z.unknown()),
  z.looseObject({ name: z.unknown() }).transform((one) => [one]),
])

/** Most faults shown at once: a file that is not a template at all would fill the screen. */
const FAULTS_SHOWN = 5

export const templates: Noun = {
  name: 'templates',
  summary: 'the approved templates that messages are validated against',
  verbs: [
    verb({
      usage: 'import <file>',
      summary:
        'import templates from a JSON file (- for standard input) as WhatsApp has them: one, a list, or the answer of its listing',
      act: 'template.import',
      example: 'order_update.json --account 1',
      options: {
        '!--account <id>': 'account that may send them; a template of the same name and language is replaced',
      },
      values: z.strictObject({ file: jsonPath, account: accountId }),
      async run({ file, account }, { redis, stdin }) {
        await existingAccount(redis, account)
        const templates = await readTemplates(file, stdin)
        for (const template of templates) await importTemplate(redis, account, template)
        const acted = templates.map(({ name, language }) => ({ account, target: name, detail: language }))
        return { json: templates.map(documentOf), text: tableOf(templates), acted }
      },
    }),

    verb({
      usage: 'list',
      summary: "list an account's templates",
      example: '--account 1',
      options: { '!--account <id>': 'account whose templates to list' },
      values: z.strictObject({ account: accountId }),
      async run({ account }, { redis }) {
        await existingAccount(redis, account)
        const templates = await listTemplates(redis, account)
        return {
          json: templates.map(documentOf),
          text: templates.length === 0 ? `Account ${account} has no template yet.` : tableOf(templates),
        }
      },
    }),

    verb({
      usage: 'show <name>',
      summary: 'show a template in all its languages, and what a message must fill in',
      example: 'order_update --account 1',
      options: { '!--account <id>': 'account that may send it', '--language <code>': 'only in this language' },
      values: z.strictObject({ name: z.string(), account: accountId, language: z.string().optional() }),
      async run({ name, account, language }, { redis }) {
        await existingAccount(redis, account)
        const named = (await listTemplates(redis, account)).filter((template) => template.name === name)
        const found = named.filter((template) => language === undefined || template.language === language)
        if (found.length > 0) return { json: found, text: found.map(templateSummary).join('\n\n') }
        throw noSuch(account, name, language, named)
      },
    }),

    verb({
      usage: 'remove <name>',
      summary: 'remove a template, in one language or in all: messages that name it are refused from then on',
      act: 'template.remove',
      example: 'order_update --account 1 --language en_US',
      options: { '!--account <id>': 'account that may send it', '--language <code>': 'only in this language' },
      values: z.strictObject({ name: z.string(), account: accountId, language: z.string().optional() }),
      async run({ name, account, language }, { redis }) {
        await existingAccount(redis, account)
        const named = (await listTemplates(redis, account)).filter((template) => template.name === name)
        const found = named.filter((template) => language === undefined || template.language === language)
        if (found.length === 0) throw noSuch(account, name, language, named)
        const languages = found.map((template) => template.language)
        for (const each of languages) await removeTemplate(redis, account, name, each)
        return {
          json: { account, name, languages },
          text: `Removed ${name} in ${languages.join(', ')}.`,
          acted: { account, target: name, detail: languages.join(',') },
        }
      },
    }),
  ],
}

function noSuch(account: number, name: string, language: string | undefined, named: readonly Template[]): CliFailure {
  const others = named.map((template) => template.language)
  const but = others.length === 0 ? '; see `templates list`' : ` in ${language}, but in ${others.join(', ')}`
  return new CliFailure(`Account ${account} has no template ${name}${but}.`)
}

/** All templates of the file, or a failure that names what is wrong with them: all are imported or none. */
async function readTemplates(path: string, stdin: Readable): Promise<Template[]> {
  const definitions = templateFile.safeParse(await readJson(path, stdin))
  const file = shownFile(path)
  if (!definitions.success || definitions.data.length === 0) {
    throw new CliFailure(`${file}: expected a template, a list of templates or {"data": [...]}, got none.`)
  }
  const read = readDefinitions(definitions.data, (place) => `[${place}]`)
  if ('faults' in read) throw new CliFailure(`Nothing was imported. In ${file}: ${sentenceFor(read.faults)}.`)
  return read.templates
}

function sentenceFor(faults: readonly Fault[]): string {
  const shown = faults.slice(0, FAULTS_SHOWN).map((fault) => `${fault.path}: ${fault.message}`)
  const more = faults.length - shown.length
  return shown.join('; ') + (more > 0 ? `; and ${more} more` : '')
}

const documentOf = ({ name, language, category, status }: Template) => ({ name, language, category, status })

function tableOf(templates: readonly Template[]): string {
  return table(
    ['NAME', 'LANGUAGE', 'CATEGORY', 'STATUS'],
    templates.map((template) => [template.name, template.language, template.category, template.status]),
  )
}
