// templates: import, list, show, remove. What is imported counts as approved unless the file says otherwise.
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { readDefinitions } from '../accounts/commands/templates.ts'
import { importTemplate, type ListedTemplate, listTemplates, removeTemplate } from '../accounts/store/templates.ts'
import type { Fault } from '../messages/fault.ts'
import { type BlockShape, shapeOf, type Template } from '../messages/templates/template.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'
import { jsonPath, readJson, shownFile } from './files.ts'
import { type Columns, keyValueTable, listed } from './print.ts'
import { accountId } from './values.ts'
import { option, type Verb, verb } from './verb.ts'

/** One definition, a list of them, or the answer of WhatsApp's own listing. */
const templateFile = z.union([
  z.object({ data: z.array(z.unknown()) }).transform(({ data }) => data),
  z.array(z.unknown()),
  z.looseObject({ name: z.unknown() }).transform((one) => [one]),
])

/** Most faults shown at once: a file that is not a template at all would fill the screen. */
const FAULTS_SHOWN = 5

type Listed = Pick<Template, 'name' | 'language' | 'category' | 'status'>
const COLUMNS: Columns<Listed & { quality?: string | null }> = {
  NAME: ({ name }) => name,
  LANGUAGE: ({ language }) => language,
  CATEGORY: ({ category }) => category,
  STATUS: ({ status }) => status,
  QUALITY: ({ quality }) => quality ?? '',
}
const documentOf = ({ name, language, category, status }: Template): Listed => ({ name, language, category, status })
const statedOf = (template: ListedTemplate) => ({ ...documentOf(template), quality: template.quality ?? null })

const oneTemplate = {
  name: z.string(),
  account: option(accountId, 'id', 'account that may send it'),
  language: option(z.string().optional(), 'code', 'only in this language'),
}

export const verbs: readonly Verb[] = [
  verb({
    usage: 'import <file>',
    summary:
      'import templates from a JSON file (- for standard input) as WhatsApp has them: one, a list, or the answer of its listing',
    act: 'template.import',
    example: 'order_update.json --account 1',
    values: {
      file: jsonPath,
      account: option(
        accountId,
        'id',
        'account that may send them; a template of the same name and language is replaced',
      ),
    },
    async run({ file, account }, { redis, stdin }) {
      const templates = await readTemplates(file, stdin)
      for (const template of templates) await importTemplate(redis, account, template)
      const acted = templates.map(({ name, language }) => ({ account, target: name, detail: language }))
      return { ...listed(templates.map(documentOf), COLUMNS, ''), acted }
    },
  }),

  verb({
    usage: 'list',
    summary: "list an account's templates",
    example: '--account 1',
    values: { account: option(accountId, 'id', 'account whose templates to list') },
    run: async ({ account }, { redis }) =>
      listed((await listTemplates(redis, account)).map(statedOf), COLUMNS, `Account ${account} has no template yet.`),
  }),

  verb({
    usage: 'show <name>',
    summary: 'show a template in all its languages, and what a message must fill in',
    example: 'order_update --account 1',
    values: oneTemplate,
    async run(wanted, { redis }) {
      const found = await findTemplates(redis, wanted)
      return { json: found, text: found.map(templateSummary).join('\n\n') }
    },
  }),

  verb({
    usage: 'remove <name>',
    summary: 'remove a template, in one language or in all: messages that name it are refused from then on',
    act: 'template.remove',
    example: 'order_update --account 1 --language en_US',
    values: oneTemplate,
    async run(wanted, { redis }) {
      const { account, name } = wanted
      const languages = (await findTemplates(redis, wanted)).map((template) => template.language)
      for (const each of languages) await removeTemplate(redis, account, name, each)
      return {
        json: { account, name, languages },
        text: `Removed ${name} in ${languages.join(', ')}.`,
        acted: { account, target: name, detail: languages.join(',') },
      }
    },
  }),
]

interface Wanted {
  account: number
  name: string
  language?: string | undefined
}

/** The template in the language that was typed, or in all; a CliFailure when there is none. */
async function findTemplates(redis: Redis, { account, name, language }: Wanted): Promise<Template[]> {
  const all = (await listTemplates(redis, account)).map(({ quality: _q, componentsChangedAt: _at, ...rest }) => rest)
  const named = all.filter((template) => template.name === name)
  const found = named.filter((template) => language === undefined || template.language === language)
  if (found.length > 0) return found
  const others = named.map((template) => template.language)
  const but = others.length === 0 ? '; see `templates list`' : ` in ${language}, but in ${others.join(', ')}`
  throw new CliFailure(`Account ${account} has no template ${name}${but}.`)
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

/** What a template shows and what each of its parts needs, a line each, cards included. */
function templateSummary(template: Template): string {
  const shape = shapeOf(template)
  return keyValueTable([
    ['Template', template.name],
    ['Language', template.language],
    ['Category', template.category],
    ['Status', template.status],
    ...blockFacts(shape, shape.named),
    ...(shape.cards ?? []).flatMap((card, i) => [
      ['Card', `card_index ${i}`] as const,
      ...blockFacts(card, shape.named).map(([name, value]) => [`  ${name}`, value] as const),
    ]),
  ])
}

function blockFacts({ header, body, buttons }: BlockShape, named: boolean): [string, string][] {
  const filled = (variables: readonly string[]): string => {
    if (variables.length === 0) return 'nothing to fill in'
    return named ? `parameters ${variables.join(', ')}, by name` : `${variables.length} in order`
  }
  const shown: [string, string][] = []
  if (header) {
    const isText = header.kind === 'text'
    shown.push(['Header', isText ? `${header.text} (${filled(header.variables)})` : `${header.kind}, by its link`])
  }
  if (body) shown.push(['Body', `${body.text} (${filled(body.variables)})`])
  for (const [index, { kind, url }] of buttons.entries()) {
    const needs = kind === 'COPY_CODE' ? ', needs a coupon code' : url ? `, needs the end of ${url.text}` : ''
    shown.push(['Button', `index ${index}: ${kind}${needs}`])
  }
  return shown
}
