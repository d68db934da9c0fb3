// Lists that several pages choose from: accounts, templates, contact lists, senders.
import type { SenderDocument } from '../../../../src/model/accounts/sender.ts'
import type { accounts } from '../../../../src/producer/api/accounts/routes.ts'
import type { contacts } from '../../../../src/producer/api/contacts/routes.ts'
import type { PortfolioDocument } from '../../../../src/producer/api/portfolios/routes.ts'
import type { templates } from '../../../../src/producer/api/templates/routes.ts'
import type { Template } from '../logic/template-slots.ts'
import { call, type Data, dataOf, type Page } from './http.ts'
import { snapshot } from './live.ts'

export type Account = Data<typeof accounts.list>[number]
export type Tag = Data<typeof contacts.tags>[number]
export type Contact = Data<typeof contacts.list>[number]
/** A template without its components. */
export type ListedTemplate = Data<typeof templates.list>[number]

const MOST = 1_000
const all =
  <T>(path: string) =>
  (signal: AbortSignal): Promise<T[]> =>
    dataOf('GET', path, { query: { limit: MOST }, signal })

export const loadAccounts = all<Account>('/admin/accounts')
export const loadSenders = all<SenderDocument>('/admin/senders')
export const loadPortfolios = all<PortfolioDocument>('/admin/portfolios')

/** Pages of templates: as many as WhatsApp lets an account have, and more. */
const TEMPLATE_PAGES = 20

/** All templates of the account. */
export async function loadTemplates(signal: AbortSignal): Promise<ListedTemplate[]> {
  const found: ListedTemplate[] = []
  for (let cursor: string | undefined, page = 0; page < TEMPLATE_PAGES; page += 1) {
    const { data, next } = await call<Page<ListedTemplate>>('GET', '/admin/templates', {
      query: { limit: MOST, cursor },
      signal,
    })
    found.push(...data)
    if (next === null) break
    cursor = next
  }
  return found
}

export const loadTags = all<Tag>('/contacts/tags')

/** The address of a template; the query names its language. */
export const templateAddress = ({ name }: Pick<Template, 'name'>): string =>
  `/admin/templates/${encodeURIComponent(name)}`

/** Loads a template with its components; undefined if there is none in this language. */
export async function loadTemplate(
  template: Pick<Template, 'name' | 'language'>,
  signal?: AbortSignal,
): Promise<Template | undefined> {
  const query = { language: template.language }
  return (await dataOf<Template[]>('GET', templateAddress(template), { query, signal }))[0]
}

/** The first contact on a list, for previews. */
export const firstContact = async (tag: number, signal: AbortSignal): Promise<Contact | undefined> =>
  (await call<Page<Contact>>('GET', '/contacts', { query: { tag, limit: 1 }, signal })).data[0]

/** The senders to choose from: those whose lanes are in the live figures. */
export const senderChoices = (): readonly (readonly [string, string])[] =>
  [...(snapshot.value?.lanes ?? [])]
    .sort((one, other) => one.sender - other.sender)
    .map(({ sender, name }) => [name === '' ? String(sender) : name, `${sender} ${name}`])
