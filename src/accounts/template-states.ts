// WhatsApp's reports of templates since they were imported or listed: status, category, quality, and changed components. Stored apart from
// the registry, also for templates that are not in it: a campaign may send one without a check.
//
// A list of WhatsApp supersedes the reports from before it was read, by WhatsApp's own clock, however late they arrive. An import by a
// person supersedes all reports so far, not later ones. The import stores which reports it supersedes, so that a webhook of the same
// moment is not lost.
import { z } from 'zod'
import { type Template, templateSchema } from '../model/templates/template.ts'
import type { Redis } from '../redis/connect.ts'
import { templateStatesKey } from '../redis/keys.ts'
import { type Freshness, readReported, setNewest } from '../redis/newest.ts'

export type TemplateGroup = 'status' | 'category' | 'quality' | 'components'

/** Fields of one account: more templates than WhatsApp allows an account, each with all it may have. */
const MOST = 50_000

/** The template that a report is about. */
export interface TemplateName {
  name: string
  language: string
}

/** WhatsApp's webhooks spell languages differently from its templates. */
const fieldOf = (group: TemplateGroup | 'imported', { name, language }: TemplateName): string =>
  `${group} ${name}/${language.replaceAll('-', '_')}`

/** Of two reports in one second the one that stops the template wins: a wrong stop is noticed at once, a wrong start sends. */
const RANKS: Readonly<Record<string, number>> = { PENDING: 0, APPROVED: 1 }

/** Stores a report of a template with its time (epoch ms by WhatsApp's clock). */
export function updateTemplateState(
  redis: Redis,
  account: number,
  template: TemplateName,
  { group, value, atMs }: { group: TemplateGroup; value: string; atMs: number },
): Promise<Freshness> {
  const rank = group === 'status' ? (RANKS[value] ?? 2) : 0
  const at = { key: templateStatesKey(account), field: fieldOf(group, template), most: MOST }
  return setNewest(redis, at, { atMs, rank, value })
}

const importedSchema = z.partialRecord(z.enum(['status', 'category', 'components']), z.string()).catch({})

/** WhatsApp's reports of a template since its import; undefined where there is none. */
export interface TemplateState {
  status: string | undefined
  category: Template['category'] | undefined
  quality: string | undefined
  /** When its parts were changed (epoch ms). */
  componentsChangedAt: number | undefined
}

/** The state of a template that was listed at this time (ms, by WhatsApp's clock); 0: never. */
export type StateSince = (listedMs: number) => TemplateState

/** The states of these templates, in their order. */
export async function templateStates(
  redis: Redis,
  account: number,
  templates: readonly TemplateName[],
): Promise<StateSince[]> {
  if (templates.length === 0) return []
  const found = await redis.hmget(templateStatesKey(account), ...templates.flatMap(fieldsOf))
  return templates.map((_template, i) => (listedMs) => {
    return stateOf(found.slice(i * FIELDS.length, (i + 1) * FIELDS.length), listedMs)
  })
}

const FIELDS = ['status', 'category', 'components', 'quality', 'imported'] as const
const fieldsOf = (template: TemplateName): string[] => FIELDS.map((each) => fieldOf(each, template))

function stateOf(
  [status, category, components, quality, imported]: (string | null)[],
  listedMs: number,
): TemplateState {
  const before = importedSchema.parse(imported ? readJson(imported) : {})
  // Webhooks have whole seconds: within one second the webhook wins.
  const sinceMs = Math.floor(listedMs / 1_000) * 1_000
  const since = (text: string | null | undefined) => {
    const reported = readReported(text)
    return reported !== undefined && reported.atMs >= sinceMs ? reported : undefined
  }
  const changed = (group: 'status' | 'category' | 'components', text: string | null | undefined) =>
    text === before[group] ? undefined : since(text)
  return {
    status: changed('status', status)?.value,
    category: templateSchema.shape.category.safeParse(changed('category', category)?.value).data,
    quality: since(quality)?.value,
    componentsChangedAt: changed('components', components)?.atMs,
  }
}

/** Deletes the reports of templates that are no longer in the registry. */
export async function forgetTemplateStates(
  redis: Redis,
  account: number,
  templates: readonly TemplateName[],
): Promise<void> {
  if (templates.length > 0) await redis.hdel(templateStatesKey(account), ...templates.flatMap(fieldsOf))
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}

/** Supersedes all reports of a template, before a person imports it. */
export async function supersedeTemplate(redis: Redis, account: number, template: TemplateName): Promise<void> {
  const [status, category, components] = await redis.hmget(
    templateStatesKey(account),
    ...(['status', 'category', 'components'] as const).map((group) => fieldOf(group, template)),
  )
  const superseded = Object.fromEntries(
    Object.entries({ status, category, components }).flatMap(([group, text]) => (text ? [[group, text]] : [])),
  )
  if (Object.keys(superseded).length === 0) return
  await redis.hset(templateStatesKey(account), fieldOf('imported', template), JSON.stringify(superseded))
}

/** The template with WhatsApp's latest status and category. */
export const withState = (template: Template, { status, category }: TemplateState): Template => ({
  ...template,
  status: status ?? template.status,
  category: category ?? template.category,
})
