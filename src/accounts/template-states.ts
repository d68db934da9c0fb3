// What WhatsApp has told of templates since they were imported or listed: status, category, quality, and that their parts
// changed. It is kept beside the registry, also for templates that are not in it: a campaign may send one without a check.
//
// A list of WhatsApp supersedes what webhooks told before it was read, by WhatsApp's own clock, however late they arrive.
// An import is a person's word: what webhooks told until then counts no more, what they tell later does. The import notes
// which words it supersedes, so that a webhook of the same moment is not lost.
import { z } from 'zod'
import { type Template, templateSchema } from '../model/templates/template.ts'
import type { Redis } from '../redis/connect.ts'
import { templateStatesKey } from '../redis/keys.ts'
import { type Freshness, readReported, setNewest } from '../redis/newest.ts'

export type TemplateGroup = 'status' | 'category' | 'quality' | 'components'

/** Fields of one account: more templates than WhatsApp allows an account, each with all it may have. */
const MOST = 50_000

/** What of a template a word of WhatsApp is about. */
export interface TemplateName {
  name: string
  language: string
}

/** WhatsApp's webhooks write languages in another way than its templates do. */
const fieldOf = (group: TemplateGroup | 'imported', { name, language }: TemplateName): string =>
  `${group} ${name}/${language.replaceAll('-', '_')}`

/** Of two words of one second the one that stops it counts: a wrong stop is seen at once, a wrong start sends. */
const RANKS: Readonly<Record<string, number>> = { PENDING: 0, APPROVED: 1 }

/** Writes down what WhatsApp said of a template at this time (epoch ms by its clock). */
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

/** What WhatsApp has told of a template since its import; undefined where it said nothing. */
export interface TemplateState {
  status: string | undefined
  category: Template['category'] | undefined
  quality: string | undefined
  /** When its parts were changed (epoch ms). */
  componentsChangedAt: number | undefined
}

/** What is known of a template, when WhatsApp's list that has it was read at this time (ms, by its clock); 0: by none. */
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
  // Webhooks count in seconds: of both in one second the webhook counts.
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

/** Forgets what was told of templates that are no longer in the registry. */
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

/** A person imports the template now: what was told of it so far counts no more. Called before the import itself. */
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

/** The template as WhatsApp has it now, as far as it has told. */
export const withState = (template: Template, { status, category }: TemplateState): Template => ({
  ...template,
  status: status ?? template.status,
  category: category ?? template.category,
})
