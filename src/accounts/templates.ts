// The registry of approved templates of an account, in WhatsApp's own definition format: imported by a person, or taken from WhatsApp's
// list. Listed ones also have the time of the list and their account at WhatsApp.
import { z } from 'zod'
import { shapeOf, type Template, templateSchema, whyNotSendable } from '../model/templates/template.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { templatesKey } from '../redis/keys.ts'
import { defineScriptOfMany } from '../redis/lua.ts'
import { CorruptRecordError, jsonText, readRecord } from '../redis/records.ts'
import {
  forgetTemplateStates,
  supersedeTemplate,
  type TemplateName,
  type TemplateState,
  templateStates,
  withState,
} from './template-states.ts'

const stored = jsonText.pipe(templateSchema)

const fieldOf = (name: string, language: string): string => `${name}/${language}`
/** What the field begins with, beside the definition of a template that WhatsApp has listed; no name has a space. */
const PREFIX = { listed: 'listed ' } as const

/**
 * Adds a template, or replaces the one of the same name and language, and supersedes WhatsApp's reports of it. Dying in between leaves the
 * old definition with superseded reports; the import is repeated.
 */
export async function importTemplate(redis: Redis, account: number, template: Template): Promise<void> {
  await supersedeTemplate(redis, account, template)
  const field = fieldOf(template.name, template.language)
  await redis.hset(templatesKey(account), field, JSON.stringify(template))
  await redis.hdel(templatesKey(account), `${PREFIX.listed}${field}`)
}

/** Takes a template out of the registry; false when there is none of this name and language. */
export async function removeTemplate(redis: Redis, account: number, name: string, language: string): Promise<boolean> {
  const field = fieldOf(name, language)
  return (await redis.hdel(templatesKey(account), field, `${PREFIX.listed}${field}`)) > 0
}

/** Where and when WhatsApp has listed a template. */
export interface Listing {
  /** By WhatsApp's clock (ms). */
  atMs: number
  /** The account at WhatsApp. */
  wabaId: string
  /** Whether it was gone when its account was listed last; kept because a campaign names it. */
  isDeleted: boolean
  quality: string | undefined
}

const LISTING = /^(\d+) (\d+) (\d+) ([01]) (\S+)$/

function readListing(text: string | null | undefined): (Listing & { began: string }) | undefined {
  const [, at, began, wabaId, here, quality] = LISTING.exec(text ?? '') ?? []
  if (wabaId === undefined || began === undefined) return undefined
  return {
    ...{ atMs: Number(at), began, wabaId, isDeleted: here === '0' },
    quality: quality === '-' ? undefined : quality,
  }
}

/** The current template: from its list, with later reports applied. */
function current(template: Template, state: TemplateState, listing: Listing | undefined): Template {
  const now = withState(template, state)
  return listing?.isDeleted ? { ...now, status: DELETED } : now
}

const DELETED = 'DELETED'

/**
 * The definition of a template in one language, with the status and category that WhatsApp has reported since; undefined when it
 * is not registered. Throws a CorruptRecordError.
 */
export async function findTemplate(
  redis: Redis,
  account: number,
  name: string,
  language: string,
): Promise<Template | undefined> {
  const field = fieldOf(name, language)
  const [[raw, listed], [since]] = await Promise.all([
    redis.hmget(templatesKey(account), field, `${PREFIX.listed}${field}`),
    templateStates(redis, account, [{ name, language }]),
  ])
  if (raw === null || raw === undefined) return undefined
  const listing = readListing(listed)
  const template = readRecord(stored, `template ${field}`, raw)
  return since === undefined ? template : current(template, since(listing?.atMs ?? 0), listing)
}

/**
 * WhatsApp's latest status of a template, from a webhook or its list; undefined if there is none. Throws a
 * CorruptRecordError.
 */
export async function toldStatus(redis: Redis, account: number, template: TemplateName): Promise<string | undefined> {
  const { name, language } = template
  const listing = readListing(await redis.hget(templatesKey(account), `${PREFIX.listed}${fieldOf(name, language)}`))
  if (listing !== undefined) return (await findTemplate(redis, account, name, language))?.status
  return (await templateStates(redis, account, [template]))[0]?.(0).status
}

/** The same, cached for a second, with the shape that messages must match. */
export const cachedTemplate = cached(1_000, async (redis, account: number, name: string, language: string) => {
  const template = await findTemplate(redis, account, name, language)
  return template && { template, shape: shapeOf(template) }
})

/** The same without its shape; also undefined if its definition is corrupt: a person must repair that, and messages need not wait. */
export async function knownTemplate(
  redis: Redis,
  account: number,
  { name, language }: { name: string; language: { code: string } },
): Promise<Template | undefined> {
  try {
    return (await cachedTemplate(redis, account, name, language.code))?.template
  } catch (error) {
    if (error instanceof CorruptRecordError) return undefined
    throw error
  }
}

/** Fields of the registry that are templates, in their order. */
const namesIn = async (redis: Redis, account: number): Promise<string[]> =>
  (await redis.hkeys(templatesKey(account))).filter((field) => !field.startsWith(PREFIX.listed)).sort()

const cachedNames = cached(1_000, namesIn)

/** The end of a sentence that says that a template is not there in one language: in which others it is, if in any. */
export async function otherLanguages(redis: Redis, account: number, name: string): Promise<string> {
  const begins = fieldOf(name, '')
  const fields = (await cachedNames(redis, account)) ?? []
  const languages = fields.flatMap((field) => (field.startsWith(begins) ? [field.slice(begins.length)] : []))
  return languages.length === 0 ? '' : `, but in ${languages.sort().slice(0, LANGUAGES_NAMED_MAX).join(', ')}`
}

const LANGUAGES_NAMED_MAX = 10

/** A template with WhatsApp's reports of it, and why it cannot be sent. */
export interface ListedTemplate {
  template: Template
  listing: Listing | undefined
  quality: string | undefined
  componentsChangedAt: number | undefined
  notSendable: string | undefined
}

/** Templates read at a time. */
const READ_AT_ONCE = 500

/**
 * The templates of an account by name and language: those of one name, or up to `limit` after the field `after`. Throws a
 * CorruptRecordError when one cannot be read.
 */
export async function listTemplates(
  redis: Redis,
  account: number,
  {
    name,
    after = '',
    limit = Number.MAX_SAFE_INTEGER,
  }: { name?: string | undefined; after?: string | undefined; limit?: number } = {},
): Promise<ListedTemplate[]> {
  const fields = (await namesIn(redis, account))
    .filter((field) => field > after && (name === undefined || field.startsWith(fieldOf(name, ''))))
    .slice(0, limit)
  const found: ListedTemplate[] = []
  for (let at = 0; at < fields.length; at += READ_AT_ONCE) {
    found.push(...(await readSome(redis, account, fields.slice(at, at + READ_AT_ONCE))))
  }
  return found
}

async function readSome(redis: Redis, account: number, fields: readonly string[]): Promise<ListedTemplate[]> {
  const wanted = fields.flatMap((field) => [field, `${PREFIX.listed}${field}`])
  const raw = await redis.hmget(templatesKey(account), ...wanted)
  // One may have been removed since its name was read.
  const read = fields.flatMap((field, i) => {
    const text = raw[2 * i]
    if (text === null || text === undefined) return []
    return [{ template: readRecord(stored, `template ${field}`, text), listing: readListing(raw[2 * i + 1]) }]
  })
  const states = await templateStates(
    redis,
    account,
    read.map(({ template }) => template),
  )
  return read.flatMap(({ template, listing }, i): ListedTemplate[] => {
    const state = states[i]?.(listing?.atMs ?? 0)
    if (state === undefined) return []
    return [
      {
        template: current(template, state, listing),
        listing,
        quality: state.quality ?? listing?.quality,
        componentsChangedAt: state.componentsChangedAt,
        notSendable: whyNotSendable(template),
      },
    ]
  })
}

const listScript = defineScriptOfMany(import.meta.url, 'template-list', { names: { PREFIX } })
const listReply = z.array(z.enum(['new', 'changed', 'same', 'older', 'of_another']))
/** The result for a listed template. `older`: a later list was written already. `of_another`: it belongs to another account. */
export type ListedEnd = z.infer<typeof listReply>[number]

/** A list of templates from WhatsApp: its account there, when it was read by WhatsApp's clock, and its sync (ms). */
export interface ListPage {
  wabaId: string
  atMs: number
  beganMs: number
}

/** Templates written in one step, which takes Redis some 5 ms. */
const WRITTEN_AT_ONCE = 100

/** Stores templates as WhatsApp has just listed them, and returns the result for each. Idempotent. */
export async function writeListed(
  redis: Redis,
  account: number,
  { wabaId, atMs, beganMs }: ListPage,
  templates: readonly { template: TemplateName; text: string; quality: string | undefined }[],
): Promise<ListedEnd[]> {
  const ends: ListedEnd[] = []
  for (let from = 0; from < templates.length; from += WRITTEN_AT_ONCE) {
    const each = templates.slice(from, from + WRITTEN_AT_ONCE).map(({ template, text, quality = '-' }) => ({
      args: { field: fieldOf(template.name, template.language), text, quality },
    }))
    const args = { waba: wabaId, at: atMs, began: beganMs }
    ends.push(...listReply.parse(await listScript(redis, { templates: templatesKey(account) }, args, each)))
  }
  return ends
}

/** Templates of an account at WhatsApp that were listed, but not by the sync that began at this time. */
export async function missedBy(
  redis: Redis,
  account: number,
  { wabaId, beganMs }: Pick<ListPage, 'wabaId' | 'beganMs'>,
): Promise<(TemplateName & { isDeleted: boolean })[]> {
  const missed = new Map<string, TemplateName & { isDeleted: boolean }>()
  for (let cursor = '0'; ; ) {
    const [next, found] = await redis.hscan(templatesKey(account), cursor, 'MATCH', `${PREFIX.listed}*`, 'COUNT', 1_000)
    for (let i = 0; i < found.length; i += 2) {
      const listing = readListing(found[i + 1])
      if (listing?.wabaId !== wabaId || listing.began === String(beganMs)) continue
      const [name = '', language = ''] = (found[i] ?? '').slice(PREFIX.listed.length).split('/')
      missed.set(`${name}/${language}`, { name, language, isDeleted: listing.isDeleted })
    }
    if (next === '0') return [...missed.values()]
    cursor = next
  }
}

/** Keeps a template that WhatsApp has deleted, as deleted. */
export async function markDeleted(redis: Redis, account: number, { name, language }: TemplateName): Promise<void> {
  const key = templatesKey(account)
  const field = `${PREFIX.listed}${fieldOf(name, language)}`
  const text = await redis.hget(key, field)
  const marked = text?.replace(LISTING, '$1 $2 $3 0 $5')
  // Somebody may have imported it in between; then the next sync finds that.
  if (marked !== undefined && marked !== text) await redis.hset(key, field, marked)
}

/** Removes templates that WhatsApp has deleted, with their reports. */
export async function dropTemplates(redis: Redis, account: number, gone: readonly TemplateName[]): Promise<void> {
  for (const { name, language } of gone) await removeTemplate(redis, account, name, language)
  await forgetTemplateStates(redis, account, gone)
}

/** No sender belongs to this account at WhatsApp any more: its templates stay, as if they were imported by hand. */
export async function releaseTemplates(redis: Redis, account: number, wabaId: string): Promise<void> {
  for (const { name, language } of await missedBy(redis, account, { wabaId, beganMs: 0 })) {
    await redis.hdel(templatesKey(account), `${PREFIX.listed}${fieldOf(name, language)}`)
  }
}
