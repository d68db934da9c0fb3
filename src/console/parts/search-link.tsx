// A way to the messages that something counts or names, for whoever may look through all of them; for others, the words.
import type { ComponentChildren } from 'preact'
import { type Filters, searchAddress } from '../logic/message-filters.ts'
import { may } from '../state/session.ts'

/** The children, which lead to the messages that the filters match. */
export const SearchLink = ({ filters, children }: { filters: Filters; children: ComponentChildren }) =>
  may('see') ? <a href={searchAddress(filters)}>{children}</a> : <span>{children}</span>

/** The name of a campaign, which leads to it. */
export const CampaignLink = ({ id, children }: { id: string; children: ComponentChildren }) =>
  may('see') ? <a href={`/console/campaigns/${id}`}>{children}</a> : <span>{children}</span>
