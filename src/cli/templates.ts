// templates: import, sync, list, show, remove. What is imported counts as approved unless the file has another status.
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import type { SyncedAccount } from '../accounts/template-syncs.ts'
import { importTemplate, type ListedTemplate, listTemplates, removeTemplate } from '../accounts/templates.ts'
import { askForSyncs, showSync } from '../admin/template-syncs.ts'
import { hasMorePages, MORE_PAGES, readDefinitions } from '../admin/templates.ts'
import { counted, type Fault } from '../kernel/fault.ts'
import { Refusal } from '../kernel/refusal.ts'
import { type BlockShape, type HeaderShape, shapeOf, type Template } from '../model/templates/template.ts'
import type { TemplateSyncDocument } from '../model/templates/template-sync.ts'
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
const COLUMNS: Columns<Listed & { quality?: string | null; cannot_be_sent?: string | null }> = {
  NAME: ({ name }) => name,
  LANGUAGE: ({ language }) => language,
  CATEGORY: ({ category }) => category,
  STATUS: ({ status }) => status,
  QUALITY: ({ quality }) => quality ?? '',
  NOTE: ({ cannot_be_sent: why }) => why ?? '',
}
const documentOf = ({ name, language, category, status }: Template): Listed => ({ name, language, category, status })
const statedOf = ({ template, quality, listing, notSendable }: ListedTemplate) => ({
  ...documentOf(template),
  ...{ quality: quality ?? null, waba_id: listing?.wabaId ?? null, cannot_be_sent: notSendable ?? null },
})

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
      const { templates, isMore } = await readTemplates(file, stdin)
      for (const template of templates) await importTemplate(redis, account, template)
      const acted = templates.map(({ name, language }) => ({ account, target: name, detail: language }))
      const { json, text } = listed(templates.map(documentOf), COLUMNS, '')
      return { json, text: isMore ? `${text}\n\n${MORE_PAGES}` : text, acted }
    },
  }),

  verb({
    usage: 'sync',
    summary: 'take templates over from WhatsApp’s own list, now rather than within the hour; needs a running worker',
    act: 'template.sync',
    example: '--account 1 --sender "shop"',
    values: {
      account: option(accountId, 'id', 'account that may send them'),
      sender: option(z.string().optional(), 'sender', 'only of the account at WhatsApp that it belongs to'),
    },
    async run({ account, sender }, { redis }) {
      const asked = await askForSyncs(redis, account, sender).catch(refusedInWords)
      const done = await Promise.all(asked.map((each) => followSync(redis, each)))
      const failed = done.find(({ state }) => state !== 'done')
      if (failed)
        throw new CliFailure(`${failed.waba_id}: ${failed.problem?.sentence ?? 'the sync goes on; look again.'}`)
      const acted = asked.map(({ wabaId }) => ({ account, target: wabaId }))
      return { json: done, text: done.map(syncSentence).join('\n'), acted }
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

/** A list of 20,000 templates takes less; what WhatsApp makes wait is not waited for. */
const FOLLOWED_MS = 120_000
const CHECK_EVERY_MS = 200
/** A worker checks for due syncs once a second. */
const NO_WORKER_MS = 10_000

/** Follows a sync that was just asked for to its end, or to where it has to wait. */
async function followSync(redis: Redis, synced: SyncedAccount): Promise<TemplateSyncDocument> {
  const asked = (await showSync(redis, synced)).asked_at ?? ''
  for (const startedAt = performance.now(); ; await sleep(CHECK_EVERY_MS)) {
    const sync = await showSync(redis, synced)
    const isOver = sync.state !== 'running' && (sync.ended_at ?? '') >= asked && (sync.began_at ?? '') >= asked
    if (isOver || (sync.state === 'waiting' && sync.problem !== null)) return sync
    const waitedMs = performance.now() - startedAt
    if (waitedMs > FOLLOWED_MS) return sync
    if (sync.state !== 'running' && waitedMs > NO_WORKER_MS) {
      throw new CliFailure('No worker is running. The templates are taken over once one starts.')
    }
  }
}

function syncSentence({ waba_id, listed: all, added, changed, removed, ...rest }: TemplateSyncDocument): string {
  const more = [
    [rest.kept_deleted, 'kept as DELETED for a campaign'],
    [rest.not_sendable, 'cannot be filled in'],
    [rest.unreadable, 'are no templates'],
    [rest.of_another, 'belong to another account at WhatsApp'],
  ] as const
  const notes = more.flatMap(([count, what]) => (count > 0 ? [`${count} ${what}`] : []))
  const problem = rest.problem === null ? [] : [rest.problem.sentence]
  const figures = `${waba_id}: ${counted(all, 'template')}; ${added} new, ${changed} changed, ${removed} removed.`
  return [figures, ...notes.map((note) => `${note}.`), ...problem].join(' ')
}

function refusedInWords(error: unknown): never {
  throw error instanceof Refusal ? new CliFailure(error.message) : error
}

interface Wanted {
  account: number
  name: string
  language?: string | undefined
}

/** The template in the language that was typed, or in all; a CliFailure when there is none. */
async function findTemplates(redis: Redis, { account, name, language }: Wanted): Promise<Template[]> {
  const named = (await listTemplates(redis, account, { name })).map(({ template }) => template)
  const found = named.filter((template) => language === undefined || template.language === language)
  if (found.length > 0) return found
  const others = named.map((template) => template.language)
  const but = others.length === 0 ? '; see `templates list`' : ` in ${language}, but in ${others.join(', ')}`
  throw new CliFailure(`Account ${account} has no template ${name}${but}.`)
}

/** All templates of the file, or a failure that names what is wrong with them: all are imported or none. */
async function readTemplates(path: string, stdin: Readable): Promise<{ templates: Template[]; isMore: boolean }> {
  const content = await readJson(path, stdin)
  const definitions = templateFile.safeParse(content)
  const file = shownFile(path)
  if (!definitions.success || definitions.data.length === 0) {
    throw new CliFailure(`${file}: expected a template, a list of templates or {"data": [...]}, got none.`)
  }
  const read = readDefinitions(definitions.data, (index) => `[${index}]`)
  if ('faults' in read) throw new CliFailure(`Nothing was imported. In ${file}: ${sentenceFor(read.faults)}.`)
  return { templates: read.templates, isMore: hasMorePages(content) }
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
    ...(shape.notSendable === undefined ? [] : [['Note', shape.notSendable] as const]),
    ...blockFacts(shape, shape.named),
    ...(shape.offer?.ends ? [['Offer', 'needs the time when it ends'] as const] : []),
    ...(shape.cards ?? []).flatMap((card, i) => [
      ['Card', `card_index ${i}`] as const,
      ...blockFacts(card, shape.named).map(([name, value]) => [`  ${name}`, value] as const),
    ]),
  ])
}

const NEEDS: Partial<Record<BlockShape['buttons'][number]['kind'], string>> = {
  COPY_CODE: ', needs a coupon code',
  MPM: ', needs sections of products',
  FLOW: ', has to be named; may have a flow token and data',
  CATALOG: ', may have a product whose picture is shown',
}

const FILE = 'a file of the gallery, a link, or an id of WhatsApp'
const HEADERS: Record<Exclude<HeaderShape['kind'], 'text'>, string> = {
  image: `image: ${FILE}`,
  video: `video: ${FILE}`,
  document: `document: ${FILE}`,
  gif: `gif: ${FILE}`,
  location: 'location, needs latitude and longitude',
  product: 'product, needs its id and that of its catalogue',
}

/** The address of the button of a code, as WhatsApp lists it and as definitions have it. */
const isCode = (url: string): boolean => url === '{{1}}' || /[?&]otp_type=/.test(url)

function blockFacts({ header, body, buttons }: BlockShape, named: boolean): [string, string][] {
  const filled = (variables: readonly string[]): string => {
    if (variables.length === 0) return 'nothing to fill in'
    return named ? `parameters ${variables.join(', ')}, by name` : `${variables.length} in order`
  }
  const shown: [string, string][] = []
  if (header) {
    const isText = header.kind === 'text'
    shown.push(['Header', isText ? `${header.text} (${filled(header.variables)})` : HEADERS[header.kind]])
  }
  if (body) shown.push(['Body', `${body.text} (${filled(body.variables)})`])
  for (const [index, { kind, url }] of buttons.entries()) {
    const needs = NEEDS[kind] ?? (url ? `, needs ${isCode(url.text) ? 'the code' : `the end of ${url.text}`}` : '')
    shown.push(['Button', `index ${index}: ${kind}${needs}`])
  }
  return shown
}
