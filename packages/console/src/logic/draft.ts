// A campaign that is being written and is not on the server yet.

import type { CampaignDescription } from '../../../../src/campaigns/commands/campaign-document.ts'
import type { CsvOptions } from '../../../../src/files/csv-head.ts'
import type { MarketingRoute } from '../../../../src/model/accounts/sender.ts'
import type { RowsHead } from './rows-head.ts'
import { componentsOf, type Fillings, openSlots, slotsOf, type Template } from './template-slots.ts'

/** The choices so far; `validUntil` is an ISO time or empty. */
export interface Draft {
  name: string
  sender: string
  template: Template | undefined
  fillings: Fillings
  source: 'tags' | 'file'
  tags: readonly number[]
  except: readonly number[]
  file: File | undefined
  head: RowsHead | undefined
  /** How the file is read, if a person has chosen. */
  csvOptions: CsvOptions
  phone: string
  validUntil: string
  /** How often people who have had enough marketing are tried again. */
  waves: number
  /** The marketing route, in place of that of its sender; empty: as its sender has it. */
  route: MarketingRoute | ''
}

export const EMPTY: Draft = {
  name: '',
  sender: '',
  template: undefined,
  fillings: new Map(),
  source: 'tags',
  tags: [],
  except: [],
  file: undefined,
  head: undefined,
  csvOptions: {},
  phone: '',
  validUntil: '',
  waves: 0,
  route: '',
}

/** The marketing routes, in words. */
export const ROUTES: readonly (readonly [MarketingRoute, string])[] = [
  ['messages', 'the usual address'],
  ['marketing_fallback', 'the address for marketing; else the usual one'],
  ['marketing_strict', 'the address for marketing alone'],
]

/** What is missing before it can be created, in sentences. */
export function missingOf(draft: Draft): string[] {
  const { template, source } = draft
  return [
    ...(draft.sender === '' ? ['Choose a sender.'] : []),
    ...(template === undefined ? ['Choose a template.'] : []),
    ...(template === undefined
      ? []
      : openSlots(slotsOf(template), draft.fillings).map(({ label }) => `${label} is empty.`)),
    ...(source === 'tags' && draft.tags.length === 0 ? ['Choose at least one list of contacts.'] : []),
    ...(source === 'file' && draft.head === undefined ? ['Choose a file of recipients.'] : []),
  ]
}

/** The body of the request that creates it. */
export function definitionOf(draft: Draft): object {
  const { template } = draft
  return {
    ...(draft.name.trim() === '' ? {} : { name: draft.name.trim() }),
    sender: draft.sender,
    template: {
      name: template?.name ?? '',
      language: { code: template?.language ?? '' },
      components: template === undefined ? [] : componentsOf(template, draft.fillings),
    },
    recipients:
      draft.source === 'tags'
        ? { tags: draft.tags, ...(draft.except.length === 0 ? {} : { except: draft.except }) }
        : { rows: { phone: draft.phone } },
    ...(draft.validUntil === '' ? {} : { valid_until: draft.validUntil }),
    ...(draft.waves === 0 ? {} : { retry_capped: { times: draft.waves } }),
    ...(draft.route === '' ? {} : { marketing_route: draft.route }),
  }
}

/** The fields of a recipient, by the names that fillings use. */
export function sourcesOf({ source, head }: Pick<Draft, 'source' | 'head'>): readonly string[] {
  if (source === 'tags') return ['contact.name', 'contact.phone', 'contact.email']
  return (head?.columns ?? []).map((column) => `row.${column}`)
}

/** The recipients of an earlier campaign, as far as they can be copied: a file has to be uploaded again. */
export function recipientsFrom({ recipients }: CampaignDescription): Partial<Draft> {
  if ('tags' in recipients && !('class' in recipients)) {
    return { source: 'tags', tags: recipients.tags, except: recipients.except }
  }
  return 'rows' in recipients ? { source: 'file', phone: recipients.rows.phone } : {}
}
