// What several pages choose from: templates, tags, senders.
import type { Template } from '../logic/template-slots.ts'
import { call, dataOf, type Page } from './http.ts'
import { snapshot } from './live.ts'

/** A contact list, and how many are on it. */
export interface Tag {
  id: number
  name: string
  contacts: number
}

/** A template as lists have it: without what it says. */
export interface ListedTemplate {
  /** `name/language`. */
  id: string
  name: string
  language: string
  category: string
  status: string
}

/** A person of the account. */
export interface Contact {
  id: number
  name: string | null
  phone: string
  email: string | null
  tags: number[]
}

const MOST = 1_000

/** The templates of the account. */
export const loadTemplates = async (signal: AbortSignal): Promise<ListedTemplate[]> =>
  (await call<Page<ListedTemplate>>('GET', '/admin/templates', { query: { limit: MOST }, signal })).data

/** The address of a template; its language is named in the query. */
export const templateAddress = ({ name }: Pick<Template, 'name'>): string =>
  `/admin/templates/${encodeURIComponent(name)}`

/** What a template says; undefined when it is not there in this language. */
export const loadTemplate = async (
  { name, language }: Pick<Template, 'name' | 'language'>,
  signal?: AbortSignal,
): Promise<Template | undefined> =>
  (
    await dataOf<Template[]>('GET', templateAddress({ name }), { query: { language }, ...(signal ? { signal } : {}) })
  )[0]

/** The contact lists of the account. */
export const loadTags = async (signal: AbortSignal): Promise<Tag[]> =>
  (await call<Page<Tag>>('GET', '/contacts/tags', { query: { limit: MOST }, signal })).data

/** The first contact with a tag, for previews; undefined when there is none. */
export const firstContact = async (tag: number, signal: AbortSignal): Promise<Contact | undefined> =>
  (await call<Page<Contact>>('GET', '/contacts', { query: { tag, limit: 1 }, signal })).data[0]

/** The senders as they can be chosen: those whose lanes the figures show. */
export const senderChoices = (): readonly (readonly [string, string])[] =>
  [...(snapshot.value?.lanes ?? [])]
    .sort((one, other) => one.sender - other.sender)
    .map(({ sender, name }) => [name === '' ? String(sender) : name, `${sender} ${name}`])
