// Who wants no advertising, since when, and who said so.
import { useState } from 'preact/hooks'
import type { OptOut } from '../../people/opt-outs/opt-out.ts'
import { optOutSource } from '../logic/opt-out-words.ts'
import { TextField } from '../parts/field.tsx'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { SearchLink } from '../parts/search-link.tsx'
import { Table } from '../parts/table.tsx'
import { Said, When } from '../parts/text.tsx'
import { addressOf, call, dataOf, type Page, Refused } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { AddOptOut } from './opt-outs/add-opt-out.tsx'
import { RemoveOptOut } from './opt-outs/remove-opt-out.tsx'

const LIMIT = 50

/** One person as a list: empty when they said nothing. */
async function onePerson(person: string, signal: AbortSignal | undefined): Promise<Page<OptOut>> {
  const address = `/opt-outs/${encodeURIComponent(person)}`
  try {
    return { data: [await dataOf<OptOut>('GET', address, signal ? { signal } : {})], next: null }
  } catch (error) {
    if (error instanceof Refused && error.status === 404) return { data: [], next: null }
    throw error
  }
}

/** The list, with what adds and removes; `?person=` looks for one. */
export function OptOuts() {
  const person = place.value.query.get('person') ?? ''
  const [wanted, setWanted] = useState(person)
  const [asked, setAsked] = useState<{ what: 'add' } | { what: 'remove'; of: OptOut }>()
  const list = (cursor?: string, signal?: AbortSignal): Promise<Page<OptOut>> =>
    person === ''
      ? call('GET', '/opt-outs', { query: { limit: LIMIT, cursor }, ...(signal ? { signal } : {}) })
      : onePerson(person, signal)
  const loaded = useLoad(`opt-outs ${person}`, (signal) => list(undefined, signal))
  const { rows, more } = useRows(loaded, (cursor) => list(cursor))
  const mayWrite = may('writeContacts')
  const props = { onDone: loaded.reload, onClose: () => setAsked(undefined) }
  return (
    <Frame
      title="Opt-outs"
      actions={
        mayWrite && (
          <button type="button" class="primary" onClick={() => setAsked({ what: 'add' })}>
            Add an opt-out
          </button>
        )
      }
    >
      <p>People who want no advertising: campaigns pass them over, and MARKETING templates to them are cancelled.</p>
      <search>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault()
            go(addressOf('/console/opt-outs', { person: wanted.trim() }))
          }}
        >
          <TextField label="Number or user id" type="search" value={wanted} onValue={setWanted} />
          <div>
            <button type="submit">Find</button>
          </div>
        </form>
      </search>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Empty title={person === '' ? 'Nobody has opted out.' : 'This person has not opted out.'}>
              {person === '' ? (
                <p>
                  Who writes STOP, or tells WhatsApp so, is put on this list by itself. Add those here who told you
                  otherwise.
                </p>
              ) : (
                <p>
                  <a href="/console/opt-outs">Show everybody who has</a>
                </p>
              )}
            </Empty>
          ) : (
            <Table
              cards
              caption="Opt-outs"
              rows={rows}
              keyOf={(each) => each.person}
              columns={[
                {
                  title: 'Person',
                  head: true,
                  cell: (each) => (
                    <SearchLink filters={{ to: each.person }}>
                      <Said text={each.person} />
                    </SearchLink>
                  ),
                },
                { title: 'Since', cell: ({ since }) => <When at={since} /> },
                { title: 'Said by', cell: ({ source }) => optOutSource(source) },
                ...(mayWrite
                  ? [
                      {
                        title: 'Action',
                        cell: (of: OptOut) => (
                          <button
                            type="button"
                            aria-label={`Remove the opt-out of ${of.person}`}
                            onClick={() => setAsked({ what: 'remove', of })}
                          >
                            Remove
                          </button>
                        ),
                      },
                    ]
                  : []),
              ]}
            />
          )
        }
      </Shown>
      <More more={more} />
      {asked?.what === 'add' && <AddOptOut {...props} />}
      {asked?.what === 'remove' && <RemoveOptOut person={asked.of.person} {...props} />}
    </Frame>
  )
}
