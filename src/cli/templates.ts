// templates: the approved templates that messages are checked against.
import { z } from 'zod'
import { counted } from '../kernel/fault.ts'
import {
  type BlockShape,
  type HeaderShape,
  shapeOf,
  type Template,
  templateSchema,
} from '../model/templates/template.ts'
import { type TemplateSyncDocument, templateSyncDocumentSchema } from '../model/templates/template-sync.ts'
import { templates } from '../producer/api/templates/routes.ts'
import { keyValueTable } from './print.ts'
import { type RouteVerb, routeVerb } from './route-verb.ts'

const COLUMNS = ['name', 'language', 'category', 'status', 'quality', 'cannot_be_sent']
const time = z.string().nullable()
/** What is followed of a sync, whatever else another release says. */
const syncs = z.array(
  z.looseObject({
    ...{ waba_id: z.string(), state: z.string(), asked_at: time, began_at: time, ended_at: time },
    problem: z.looseObject({ sentence: z.string() }).nullable(),
  }),
)

/** Those syncs that were asked for. */
function ofThose(now: unknown, first: unknown): unknown {
  const ids = new Set(syncs.parse(first).map(({ waba_id: id }) => id))
  return syncs.parse(now).filter(({ waba_id: id }) => ids.has(id))
}

export const verbs: readonly RouteVerb[] = [
  routeVerb('templates', 'import', templates.import, {
    reads: 'body',
    listAs: 'data',
    columns: COLUMNS,
    example: 'order_update.json --account 1',
  }),
  routeVerb('templates', 'sync', templates.sync, {
    example: '--account 1 --sender "shop"',
    follows: { by: templates.syncs, isOver: areOver, pick: ofThose },
    text: (data) => z.array(templateSyncDocumentSchema).parse(data).map(syncSentence).join('\n'),
    fails(data) {
      const failed = syncs.parse(data).find(({ state }) => state !== 'done')
      return failed && `${failed.waba_id}: ${failed.problem?.sentence ?? 'the sync goes on; look again.'}`
    },
  }),
  routeVerb('templates', 'syncs', templates.syncs, { example: '--account 1', none: 'No sync yet.' }),
  routeVerb('templates', 'list', templates.list, {
    example: '--account 1',
    columns: COLUMNS,
    none: 'The account has no template yet.',
    pages: 'all',
  }),
  routeVerb('templates', 'show', templates.show, {
    example: 'order_update --account 1',
    text: (data) => z.array(templateSchema).parse(data).map(templateSummary).join('\n\n'),
  }),
  routeVerb('templates', 'remove', templates.remove, {
    asks: false,
    example: 'order_update --account 1 --language en_US',
  }),
]

/** Whether the syncs that were asked for are over, or have to wait. */
function areOver(now: unknown, first: unknown): boolean {
  const all = new Map(syncs.parse(now).map((sync) => [sync.waba_id, sync]))
  return syncs.parse(first).every(({ waba_id: id, asked_at: asked }) => {
    const sync = all.get(id)
    if (sync === undefined) return true
    const isOver = [sync.began_at, sync.ended_at].every((time) => (time ?? '') >= (asked ?? ''))
    return (sync.state !== 'running' && isOver) || (sync.state === 'waiting' && sync.problem !== null)
  })
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
