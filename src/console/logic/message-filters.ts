// The filters of the message search: read from the address bar, written to it, and put into requests. In the address bar a
// search can be kept and shared.

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
  'code',
  'since',
  'until',
] as const
export type FilterName = (typeof FILTERS)[number]
export type Filters = Partial<Record<FilterName, string>>

/** Filters that requeue does not take. */
const NOT_FOR_REQUEUE: readonly FilterName[] = ['id', 'from']
const REQUEUE_STATES = ['failed', 'unknown', 'expired', 'cancelled']

/** The filters in an address, without empty values and unknown names. */
export function filtersOf(query: URLSearchParams): Filters {
  const filters: Filters = {}
  for (const name of FILTERS) {
    const value = query.get(name)?.trim()
    if (value) filters[name] = value
  }
  return filters
}

/** The query of an address with these filters, in a fixed order and without a leading `?`. */
export function queryOf(filters: Filters, more: Readonly<Record<string, string>> = {}): string {
  const query = new URLSearchParams()
  for (const name of FILTERS) {
    const value = filters[name]?.trim()
    if (value) query.set(name, value)
  }
  for (const [name, value] of Object.entries(more)) query.set(name, value)
  return query.toString()
}

/** The address of the search with these filters. */
export const searchAddress = (filters: Filters): string => {
  const query = queryOf(filters)
  return query === '' ? '/console/messages' : `/console/messages?${query}`
}

/**
 * The body of a request that requeues all matching messages; or the reason why it cannot be made: with no filter, or with
 * one that requeue does not take, the request would touch more messages than the page shows.
 */
export function requeueBody(filters: Filters): { body: Record<string, string> } | { why: string } {
  const named = FILTERS.filter((name) => filters[name] !== undefined)
  if (named.length === 0) return { why: 'Choose a filter first: a state, a code, a campaign or a time.' }
  const { direction } = filters
  const odd = named.find((name) => NOT_FOR_REQUEUE.includes(name))
  if (odd !== undefined || direction === 'inbound') {
    return { why: 'Only messages that were to be sent, chosen without an id or a person who wrote, can be requeued.' }
  }
  if (filters.state !== undefined && !REQUEUE_STATES.includes(filters.state)) {
    return { why: `Only failed, unknown, expired and cancelled messages can be requeued, not ${filters.state} ones.` }
  }
  const body = Object.fromEntries(
    named.filter((name) => name !== 'direction').map((name) => [name, filters[name] ?? '']),
  )
  if (Object.keys(body).length === 0) return { why: 'Choose a filter first: a state, a code, a campaign or a time.' }
  return { body }
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
