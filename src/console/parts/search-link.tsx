// A way to the messages that something counts or names, for whoever may look through all of them; for others, the words.
import type { ComponentChildren } from 'preact'
import { type Filters, searchAddress } from '../logic/message-filters.ts'
import { addressOf } from '../state/http.ts'
import { may } from '../state/session.ts'
import { Said } from './text.tsx'

/** The children, which lead to the messages that the filters match. */
export const SearchLink = ({ filters, children }: { filters: Filters; children: ComponentChildren }) =>
  may('see') ? <a href={searchAddress(filters)}>{children}</a> : <span>{children}</span>

/** A number or user id, which leads to all that is kept of the person. */
export const PersonLink = ({ person }: { person: string }) =>
  may('run') ? (
    <a href={addressOf('/console/people', { person })}>
      <Said text={person} />
    </a>
  ) : (
    <Said text={person} />
  )

/** The name of a campaign, which leads to it. */
export const CampaignLink = ({ id, children }: { id: string; children: ComponentChildren }) =>
  may('see') ? <a href={`/console/campaigns/${id}`}>{children}</a> : <span>{children}</span>
