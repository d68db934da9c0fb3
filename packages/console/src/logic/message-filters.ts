// The filters of the message search: read from the address bar, written to it, and put into requests. In the address bar a
// search can be kept and shared.
import { MESSAGE_MOVES } from '../../../../src/model/messages/lifecycle.ts'

/** The names of the filters, in the address bar and in `GET /messages`. */
const FILTERS = [
  'id',
  'to',
  'from',
  'state',
  'class',
  'direction',
  'sender',
  'campaign',
  'campaign_id',
  'reference',
  'code',
  'since',
  'until',
] as const
export type Filters = Partial<Record<(typeof FILTERS)[number], string>>

/** The filters in an address, without empty values and unknown names. */
export function filtersOf(query: URLSearchParams): Filters {
  const filters: Filters = {}
  for (const name of FILTERS) {
    const value = query.get(name)?.trim()
    if (value) filters[name] = value
  }
  return filters
}

/** The address of the search with these filters, in a fixed order. */
export function searchAddress(filters: Filters): string {
  const query = new URLSearchParams()
  for (const name of FILTERS) {
    const value = filters[name]?.trim()
    if (value) query.set(name, value)
  }
  return query.size === 0 ? '/console/messages' : `/console/messages?${query}`
}

/**
 * The body of a request that requeues all matching messages; or the reason why it cannot be made: with no filter, or with
 * one that requeue does not take, the request would touch more messages than the page shows.
 */
export function requeueBody({ direction, ...body }: Filters): { body: Filters } | { why: string } {
  if (Object.keys(body).length === 0) return { why: 'Choose a filter first: a state, a code, a campaign or a time.' }
  if (body.id !== undefined || body.from !== undefined || direction === 'inbound') {
    return { why: 'Only messages that were to be sent, chosen without an id or a person who wrote, can be requeued.' }
  }
  const states: readonly string[] = MESSAGE_MOVES.requeue.from
  return body.state === undefined || states.includes(body.state)
    ? { body }
    : { why: `Only ${states.join(', ')} messages can be requeued, not ${body.state} ones.` }
}

/** The time of a form field (`2026-11-22T10:00`, in the reader's zone) as an ISO time; '' if it is not a time. */
export function instantOf(local: string): string {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString()
}

/** An ISO time as the value of a form field in the reader's zone; '' if it is not a time. */
export function localOf(instant: string | undefined): string {
  const ms = Date.parse(instant ?? '')
  if (Number.isNaN(ms)) return ''
  const date = new Date(ms)
  return new Date(ms - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}
