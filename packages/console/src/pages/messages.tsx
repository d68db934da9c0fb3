// The search for messages. Its filters are in the address bar.
import { useState } from 'preact/hooks'
import type { ListedMessage } from '../../../../src/messages/lookup/message-schema.ts'
import { STATES } from '../../../../src/model/messages/lifecycle.ts'
import { type Filters, filtersOf, searchAddress } from '../logic/message-filters.ts'
import { problemText } from '../logic/words.ts'
import { Form } from '../parts/form.tsx'
import { List, listAt, type TableOf } from '../parts/list.tsx'
import { Empty, Page, Search } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { MessageState, Text, When, words } from '../parts/text.tsx'
import { somethingChanged } from '../state/hooks.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { requeueAll } from './requeue.tsx'

const addressOfMessage = (id: string): string => `/console/messages/${encodeURIComponent(id)}`

/** The search; a key for some senders can only find a message by its id. */
export const Messages = () =>
  may('viewMessages') ? (
    <SearchPage />
  ) : (
    <Page title="Messages">
      <p>Your key is for some senders only: it sees each of their messages, and no list of all.</p>
      <Search label="Message id" verb="Show it" required to={addressOfMessage} />
    </Page>
  )

function SearchPage() {
  const { id: _id, ...filters } = filtersOf(place.value.query)
  const isFiltered = Object.keys(filters).length > 0
  const [clears, setClears] = useState(0)
  const search = ({ id, ...others }: Filters): void => {
    // An id leads to the page of its message.
    if (id?.trim()) go(addressOfMessage(id.trim()))
    else if (searchAddress(others) === searchAddress(filters)) somethingChanged()
    else go(searchAddress(others))
  }
  const clear = (): void => {
    setClears(clears + 1)
    search({})
  }
  const actions = may('bulkSend') && <Button press={() => requeueAll(filters)}>Requeue all that match</Button>
  return (
    <Page title="Messages" actions={actions}>
      <FilterForm key={`${searchAddress(filters)} ${clears}`} filters={filters} onSearch={search} onClear={clear} />
      <List
        {...MESSAGES}
        from={listAt<ListedMessage>('/messages', { ...filters, limit: 50 })}
        more="Show older ones"
        empty={isFiltered ? NO_MATCH : <NoMessage />}
        none={NONE_SO_FAR}
      />
    </Page>
  )
}

const any = (names: readonly string[]) => [['', 'any'] as const, ...names.map((name) => [name, name] as const)]

/** Searches when it is sent. Rarely used filters are folded away unless one of them is set. */
function FilterForm({
  filters,
  onSearch,
  onClear,
}: {
  filters: Filters
  onSearch: (filters: Filters) => void
  onClear: () => void
}) {
  const fold = 'More filters'
  const value = (name: keyof Filters) => ({ value: filters[name] ?? '' })
  return (
    <search>
      <Form
        variant="filters card"
        verb="Search"
        also={<Button press={onClear}>Clear</Button>}
        fields={{
          id: { label: 'Message id' },
          to: { label: 'To', placeholder: '+44 7700 900123', ...value('to') },
          state: { label: 'State', options: any(STATES), ...value('state') },
          code: { label: 'Code of the problem', placeholder: '131026', ...value('code') },
          since: { fold, kind: 'time', label: 'Accepted since', ...value('since') },
          until: { fold, kind: 'time', label: 'Accepted before', ...value('until') },
          campaign: { fold, label: 'Campaign', placeholder: 'cmp_1_1', ...value('campaign') },
          sender: { fold, label: 'Sender', help: 'Number, name or id.', ...value('sender') },
          class: { fold, label: 'Class', options: any(['transactional', 'campaign']), ...value('class') },
          direction: { fold, label: 'Direction', options: any(['outbound', 'inbound']), ...value('direction') },
          from: { fold, label: 'From, of received ones', ...value('from') },
          reference: { fold, label: 'Reference', ...value('reference') },
          campaign_id: { fold, label: 'campaign_id of the request', ...value('campaign_id') },
        }}
        act={async (wanted) => {
          onSearch(wanted)
        }}
      />
    </search>
  )
}

const NONE_SO_FAR = (
  <Empty title="None so far.">
    There are more messages than one search goes through: the older ones are still to be searched.
  </Empty>
)
const NO_MATCH = (
  <Empty title="No message matches.">
    Messages are kept for 30 days unless set otherwise. <a href="/console/messages">Show all messages</a>
  </Empty>
)
const NoMessage = () => (
  <Empty title="No message yet.">
    {may('send') && (
      <a class="button primary" href="/console/start">
        Send the first message
      </a>
    )}
  </Empty>
)

/** The number or user id of the person, sender or recipient. */
export const personOf = (message: ListedMessage): string =>
  message.direction === 'inbound' ? message.from : message.to

/** The columns of tables of messages. */
export const MESSAGES: Omit<TableOf<ListedMessage>, 'rows'> = {
  caption: 'Messages',
  keyOf: ({ id }) => id,
  columns: [
    {
      title: 'Accepted',
      head: true,
      cell: ({ id, accepted_at }) => (
        <a href={addressOfMessage(id)}>
          <When at={accepted_at} />
          <span class="unseen"> {id}</span>
        </a>
      ),
    },
    {
      title: 'Person',
      cell: (message) =>
        words`${<span class="quiet">{message.direction === 'inbound' ? 'from' : 'to'}</span>} ${personOf(message)}`,
    },
    {
      title: 'State',
      cell: ({ state, direction, possible_duplicate }) => (
        <>
          <MessageState state={state} direction={direction} />
          {possible_duplicate && <span class="reason held">possible duplicate</span>}
        </>
      ),
      note: ({ problem }) => problem && problemText(problem),
    },
    { title: 'Text', wide: true, cell: ({ text }) => <Text class="excerpt" text={text} /> },
    { title: 'Kind', wide: true, text: ({ kind }) => kind },
    { title: 'Sender', wide: true, text: ({ sender }) => sender ?? 'gone' },
  ],
}
