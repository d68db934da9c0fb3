// The registry of approved templates of an account, in WhatsApp's own definition format.
import { shapeOf, type Template, templateSchema } from '../../messages/templates/template.ts'
import type { Redis } from '../../redis/connect.ts'
import { templatesKey } from '../../redis/keys.ts'
import { cached, jsonText, readRecord } from '../../redis/records.ts'
import { supersedeTemplate, type TemplateState, templateStates, withState } from './template-states.ts'

const stored = jsonText.pipe(templateSchema)

const fieldOf = (name: string, language: string): string => `${name}/${language}`

/**
 * Adds a template, or replaces the one of the same name and language. What WhatsApp told of it before counts no more. Dying
 * in between leaves the old definition without that; the import is done again.
 */
export async function importTemplate(redis: Redis, account: number, template: Template): Promise<void> {
  await supersedeTemplate(redis, account, template)
  await redis.hset(templatesKey(account), fieldOf(template.name, template.language), JSON.stringify(template))
}

/** Takes a template out of the registry; false when there is none of this name and language. */
export async function removeTemplate(redis: Redis, account: number, name: string, language: string): Promise<boolean> {
  return (await redis.hdel(templatesKey(account), fieldOf(name, language))) === 1
}

/**
 * The definition of a template in one language, with the status and category that WhatsApp has told since; undefined when it
 * is not registered. Throws a CorruptRecordError.
 */
export async function findTemplate(
  redis: Redis,
  account: number,
  name: string,
  language: string,
): Promise<Template | undefined> {
  const [raw, [state]] = await Promise.all([
    redis.hget(templatesKey(account), fieldOf(name, language)),
    templateStates(redis, account, [{ name, language }]),
  ])
  if (raw === null) return undefined
  const template = readRecord(stored, `template ${fieldOf(name, language)}`, raw)
  return state === undefined ? template : withState(template, state)
}

/** The same as it was within the last second, with the shape that messages are held against. */
export const cachedTemplate = cached(1_000, async (redis, account: number, name: string, language: string) => {
  const template = await findTemplate(redis, account, name, language)
  return template && { template, shape: shapeOf(template) }
})

const cachedNames = cached(1_000, (redis, account: number) => redis.hkeys(templatesKey(account)))

/** The end of a sentence that says that a template is not there in one language: in which others it is, if in any. */
export async function otherLanguages(redis: Redis, account: number, name: string): Promise<string> {
  const begins = fieldOf(name, '')
  const fields = (await cachedNames(redis, account)) ?? []
  const languages = fields.flatMap((field) => (field.startsWith(begins) ? [field.slice(begins.length)] : []))
  return languages.length === 0 ? '' : `, but in ${languages.sort().slice(0, LANGUAGES_NAMED_MAX).join(', ')}`
}

const LANGUAGES_NAMED_MAX = 10

/** A template with what WhatsApp tells of it besides. */
export type ListedTemplate = Template & Pick<TemplateState, 'quality' | 'componentsChangedAt'>

/** The templates of an account by name and language. Throws a CorruptRecordError when one cannot be read. */
export async function listTemplates(redis: Redis, account: number): Promise<ListedTemplate[]> {
  const raw = await redis.hgetall(templatesKey(account))
  const templates = Object.entries(raw)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([field, text]) => readRecord(stored, `template ${field}`, text))
  const states = await templateStates(redis, account, templates)
  return templates.flatMap((template, i): ListedTemplate[] => {
    const state = states[i]
    if (state === undefined) return []
    const { quality, componentsChangedAt } = state
    return [{ ...withState(template, state), quality, componentsChangedAt }]
  })
}
