// The search for messages. Its filters are in the address bar.
import { useState } from 'preact/hooks'
import type { ListedMessage } from '../../messages/lookup/message-schema.ts'
import { type Filters, filtersOf, queryOf, searchAddress } from '../logic/message-filters.ts'
import { TextField } from '../parts/field.tsx'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { call, type Page } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { FilterForm } from './messages/filter-form.tsx'
import { MessageTable } from './messages/message-table.tsx'
import { RequeueDialog } from './messages/requeue-dialog.tsx'

const LIMIT = 50

/** The page of the search; whoever may see only messages of some senders finds each by its id. */
export const Messages = () => (may('see') ? <Search /> : <ById />)

function ById() {
  const [id, setId] = useState('')
  return (
    <Frame title="Messages">
      <p>Your key is for some senders only: it sees each of their messages, and no list of all.</p>
      <search>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault()
            if (id.trim() !== '') go(`/console/messages/${encodeURIComponent(id.trim())}`)
          }}
        >
          <TextField label="Message id" value={id} onValue={setId} required />
          <div>
            <button type="submit" class="primary">
              Show it
            </button>
          </div>
        </form>
      </search>
    </Frame>
  )
}

function Search() {
  const filters = filtersOf(place.value.query)
  const { id, ...asked } = filters
  const key = queryOf(asked)
  const query = { ...asked, limit: LIMIT }
  const loaded = useLoad<Page<ListedMessage>>(`messages ${key}`, (signal) =>
    call('GET', '/messages', { query, signal }),
  )
  const { rows, more } = useRows(loaded, (cursor) => call('GET', '/messages', { query: { ...query, cursor } }))
  const [requeues, setRequeues] = useState(false)
  const search = (wanted: Filters): void => {
    const { id: wantedId, ...others } = wanted
    // An id names one message: its page is the answer.
    if (wantedId !== undefined && wantedId !== '') go(`/console/messages/${encodeURIComponent(wantedId)}`)
    else if (searchAddress(others) === searchAddress(asked)) loaded.reload()
    else go(searchAddress(others))
  }
  return (
    <Frame
      title="Messages"
      actions={
        may('sendMany') && (
          <button type="button" onClick={() => setRequeues(true)}>
            Requeue all that match
          </button>
        )
      }
    >
      <FilterForm key={key} filters={filters} onSearch={search} />
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Nothing filtered={key !== ''} searching={more !== undefined} />
          ) : (
            <MessageTable rows={rows} busy={loaded.busy} />
          )
        }
      </Shown>
      <More more={more} name={rows.length === 0 ? 'Look further back' : 'Show older ones'} />
      {requeues && <RequeueDialog filters={asked} onClose={() => setRequeues(false)} />}
    </Frame>
  )
}

function Nothing({ filtered, searching }: { filtered: boolean; searching: boolean }) {
  if (searching) {
    return (
      <Empty title="None so far.">
        <p>There are more messages than one look goes through: the older ones are still to be looked at.</p>
      </Empty>
    )
  }
  if (filtered) {
    return (
      <Empty title="No message matches.">
        <p>
          Messages are kept for 30 days unless set otherwise. <a href="/console/messages">Show all messages</a>
        </p>
      </Empty>
    )
  }
  return (
    <Empty title="No message yet.">
      {may('send') && (
        <p>
          <a class="button primary" href="/console/start">
            Send the first message
          </a>
        </p>
      )}
    </Empty>
  )
}
