// The people of the account and the lists that they are on.
import { useState } from 'preact/hooks'
import { countText } from '../logic/numbers.ts'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { PersonLink } from '../parts/search-link.tsx'
import { Table } from '../parts/table.tsx'
import { Said } from '../parts/text.tsx'
import { call, type Page } from '../state/http.ts'
import { type Contact, loadTags, type Tag } from '../state/library.ts'
import { useLoad } from '../state/load.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { ChangeContact, DeleteContact } from './contacts/change-contact.tsx'
import { ImportContacts } from './contacts/import-contacts.tsx'
import { NewContact } from './contacts/new-contact.tsx'
import { NewList } from './contacts/new-list.tsx'
import { ContactSearch } from './contacts/search.tsx'

/** The page; `?tag=` chooses a list, `?q=` looks for people. */
export function Contacts() {
  const { query } = place.value
  const tags = useLoad('tags', loadTags)
  const all = tags.value ?? []
  const tag = all.find(({ id }) => String(id) === query.get('tag'))
  return (
    <Frame title="Contacts" actions={may('writeContacts') && <NewList onMade={tags.reload} />}>
      <Shown loaded={tags}>
        {() => (
          <div class="shelves">
            <nav aria-label="Lists">
              <ul>
                <li>
                  <a href="/console/contacts" aria-current={tag === undefined ? 'true' : undefined}>
                    Everybody
                  </a>
                </li>
                {all.map(({ id, name, contacts }) => (
                  <li key={id}>
                    <a href={`/console/contacts?tag=${id}`} aria-current={tag?.id === id ? 'true' : undefined}>
                      <Said text={name} /> <span class="quiet">{countText(contacts)}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
            <People
              key={`${tag?.id} ${query.get('q')}`}
              tag={tag}
              words={query.get('q') ?? ''}
              tags={all}
              onChange={tags.reload}
            />
          </div>
        )}
      </Shown>
    </Frame>
  )
}

const LIMIT = 50

function People({
  tag,
  words,
  tags,
  onChange,
}: {
  tag: Tag | undefined
  words: string
  tags: readonly Tag[]
  onChange: () => void
}) {
  const [asked, setAsked] = useState<
    { what: 'change' | 'delete'; contact: Contact } | { what: 'import'; tag: Tag } | { what: 'new' }
  >()
  const list = (cursor?: string, signal?: AbortSignal): Promise<Page<Contact>> =>
    call('GET', '/contacts', {
      query: { limit: LIMIT, cursor, tag: tag?.id, q: words },
      ...(signal ? { signal } : {}),
    })
  const loaded = useLoad(`contacts ${tag?.id} ${words}`, (signal) => list(undefined, signal))
  const { rows, more } = useRows(loaded, (cursor) => list(cursor))
  const mayWrite = may('writeContacts')
  const done = (): void => {
    loaded.reload()
    onChange()
  }
  const nameOf = (id: number): string => tags.find((each) => each.id === id)?.name ?? String(id)
  const props = { onDone: done, onClose: () => setAsked(undefined) }
  return (
    <section class="stack" aria-labelledby="list">
      <div class="spread">
        <h2 id="list">{tag ? <Said text={tag.name} /> : 'Everybody'}</h2>
        {mayWrite && (
          <div class="actions">
            <button type="button" onClick={() => setAsked({ what: 'new' })}>
              New contact
            </button>
            {tag && (
              <button type="button" onClick={() => setAsked({ what: 'import', tag })}>
                Import into this list
              </button>
            )}
          </div>
        )}
      </div>
      <ContactSearch words={words} tag={tag?.id} />
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Empty title={words === '' ? 'Nobody is here yet.' : 'Nobody like this is here.'}>
              {mayWrite && (
                <p>{tag ? 'Import a CSV file into this list.' : 'Create a list and import a CSV file into it.'}</p>
              )}
            </Empty>
          ) : (
            <Table
              cards
              caption="Contacts"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                { title: 'Name', head: true, cell: ({ name }) => <Said text={name ?? '–'} /> },
                { title: 'Phone', cell: (contact) => <PersonLink person={contact.phone} /> },
                { title: 'Email', wide: true, cell: ({ email }) => <Said text={email ?? '–'} /> },
                { title: 'Lists', wide: true, cell: (contact) => <Said text={contact.tags.map(nameOf).join(', ')} /> },
                ...(mayWrite
                  ? [
                      {
                        title: 'Action',
                        cell: (contact: Contact) => (
                          <span class="actions">
                            <button
                              type="button"
                              aria-label={`Change ${contact.name ?? contact.phone}`}
                              onClick={() => setAsked({ what: 'change', contact })}
                            >
                              Change
                            </button>
                            <button
                              type="button"
                              aria-label={`Delete ${contact.name ?? contact.phone}`}
                              onClick={() => setAsked({ what: 'delete', contact })}
                            >
                              Delete
                            </button>
                          </span>
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
      {asked?.what === 'new' && <NewContact tag={tag} {...props} />}
      {asked?.what === 'import' && <ImportContacts tag={asked.tag} {...props} />}
      {asked?.what === 'change' && <ChangeContact contact={asked.contact} {...props} />}
      {asked?.what === 'delete' && <DeleteContact contact={asked.contact} {...props} />}
    </section>
  )
}
