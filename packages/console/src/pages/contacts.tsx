// The contacts of the account and their lists.
import { useState } from 'preact/hooks'
import { readAsSentence } from '../../../../src/files/csv-head.ts'
import type { contacts } from '../../../../src/producer/api/contacts/routes.ts'
import { counted, countText } from '../logic/numbers.ts'
import { csvFields, csvOptionsOf } from '../logic/rows-head.ts'
import { ask, Confirm, Dialog, openDialog, thenNotify } from '../parts/form.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page, Search, WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { Gauge, PersonLink, sentence, status, Text, words } from '../parts/text.tsx'
import { somethingChanged, useLoad } from '../state/hooks.ts'
import { addressOf, call, type Data, uploadFile } from '../state/http.ts'
import { type Contact, loadTags, type Tag } from '../state/library.ts'
import { go, place } from '../state/router.ts'
import { may } from '../state/session.ts'

const nameOf = ({ name, phone }: Contact): string => name ?? phone

/** The page; `?tag=` chooses a list, `?q=` searches in it. */
export function Contacts() {
  const { query } = place.value
  const wanted = query.get('q') ?? ''
  const tags = useLoad('tags', loadTags)
  const tag = tags.value?.find(({ id }) => String(id) === query.get('tag'))
  return (
    <Page title="Contacts" main={may('writeContacts') && ['New list', newList]}>
      <WhenLoaded loaded={tags}>
        {(all) => (
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
                      <Text text={name} /> <span class="quiet">{countText(contacts)}</span>
                    </a>
                  </li>
                ))}
              </ul>
            </nav>
            <People key={`${tag?.id} ${wanted}`} tag={tag} wanted={wanted} tags={all} />
          </div>
        )}
      </WhenLoaded>
    </Page>
  )
}

function People({ tag, wanted, tags }: { tag: Tag | undefined; wanted: string; tags: readonly Tag[] }) {
  const mayWrite = may('writeContacts')
  const listName = (id: number): string => tags.find((each) => each.id === id)?.name ?? String(id)
  return (
    <section class="stack" aria-labelledby="list">
      <div class="spread">
        <h2 id="list">{tag ? <Text text={tag.name} /> : 'Everybody'}</h2>
        {mayWrite && (
          <div class="actions">
            <Button press={() => newContact(tag)}>New contact</Button>
            {tag && <Button press={() => openDialog(<Import tag={tag} />)}>Import into this list</Button>}
          </div>
        )}
      </div>
      <Search
        label="Name, email or number"
        value={wanted}
        to={(text) => addressOf('/console/contacts', { tag: tag?.id, q: text })}
      />
      <List
        cards
        caption="Contacts"
        from={listAt<Contact>('/contacts', { limit: 50, tag: tag?.id, q: wanted })}
        keyOf={({ id }) => id}
        empty={
          <Empty title={wanted === '' ? 'Nobody is here yet.' : 'Nobody like this is here.'}>
            {mayWrite && (tag ? 'Import a CSV file into this list.' : 'Create a list and import a CSV file into it.')}
          </Empty>
        }
        columns={[
          { title: 'Name', head: true, text: ({ name }) => name },
          { title: 'Phone', cell: ({ phone }) => <PersonLink person={phone} /> },
          { title: 'Email', wide: true, text: ({ email }) => email },
          { title: 'Lists', wide: true, cell: (contact) => <Text text={contact.tags.map(listName).join(', ')} /> },
        ]}
        actions={
          mayWrite &&
          ((contact) => [
            ['Change', nameOf(contact), () => changeContact(contact)],
            ['Delete', nameOf(contact), () => deleteContact(contact)],
          ])
        }
      />
    </section>
  )
}

const newList = (): void =>
  ask({
    title: 'New list',
    verb: 'Create',
    fields: { name: { label: 'Name', required: true } },
    act: async ({ name }, once) => {
      const headers = { 'X-Requested-With': 'XMLHttpRequest', ...once }
      const path = '/partners/broadcast/addnewcontacttag'
      const { tagId } = await call<{ tagId: number }>('POST', path, { body: { name }, headers })
      go(`/console/contacts?tag=${tagId}`)
      return `The list ${name.trim()} is created.`
    },
  })

/** Adds a contact, on the open list if there is one. */
const newContact = (tag: Tag | undefined): void =>
  ask({
    title: 'New contact',
    verb: 'Create',
    text: tag && sentence`On the list ${tag.name}.`,
    fields: {
      phone: { label: 'Phone', required: true, placeholder: '+44 7700 900123' },
      name: { label: 'Name' },
      email: { label: 'Email', kind: 'email' },
    },
    act: async ({ phone, name, email }, headers) => {
      const body = { phone, name, email: email.trim(), tags: tag ? [tag.id] : [] }
      await call('POST', '/contacts', { body, headers })
      return 'The contact is created.'
    },
  })

const changeContact = (contact: Contact): void =>
  ask({
    title: `Change ${nameOf(contact)}`,
    verb: 'Change',
    fields: {
      name: { label: 'Name', value: contact.name ?? '' },
      email: { label: 'Email', kind: 'email', value: contact.email ?? '' },
    },
    act: async ({ name, email }) => {
      const body = { name: name.trim() || null, email: email.trim() || null }
      await call('PATCH', `/contacts/${contact.id}`, { body })
      return 'Changed.'
    },
  })

const deleteContact = (contact: Contact): void =>
  ask({
    title: `Delete ${nameOf(contact)}`,
    verb: 'Delete the contact',
    danger: true,
    text: sentence`${contact.name ?? ''} ${contact.phone} is taken off every list. Messages that were sent stay on record.`,
    act: () => thenNotify(call('DELETE', `/contacts/${contact.id}`), 'Deleted.'),
  })

type Imported = Data<typeof contacts.import>

/** Asks for a CSV file and shows the progress of its upload. */
function Import({ tag }: { tag: Tag }) {
  const [share, setShare] = useState<number>()
  return (
    <Confirm
      title={`Import into ${tag.name}`}
      verb="Import"
      fields={{
        file: {
          kind: 'file',
          label: 'CSV file with the columns name, phone and email, in any order',
          accept: '.csv,.tsv,.txt,text/csv',
        },
        ...csvFields,
      }}
      note={
        <>
          <p class="help">Of two rows with one number the last one counts. Known contacts are updated.</p>
          {share !== undefined && <Gauge label="Uploaded" value={share} most={1} />}
        </>
      }
      ready={({ file }) => file !== undefined}
      act={async ({ file, ...options }) => {
        if (file === undefined) return undefined
        const query = { tag: tag.id, ...csvOptionsOf(options) }
        const imported = await uploadFile<Imported>('/contacts/import', file, 'text/csv', setShare, query)
        somethingChanged()
        openDialog(<Result tag={tag} of={imported} />)
      }}
    />
  )
}

const Result = ({
  tag,
  of: { imported, created, refused, repeated, read_as, refused_rows, warnings },
}: {
  tag: Tag
  of: Imported
}) => (
  <Dialog title={`Imported into ${tag.name}`} close="Close">
    {status`${counted(imported, 'contact')} imported, ${countText(created)} of them new; ${countText(refused)} refused,
      ${countText(repeated)} with the number of an earlier row.`}
    {sentence`${readAsSentence(read_as)}`}
    {warnings.map((warning) => (
      <p key={warning}>{words`Please check: ${warning}.`}</p>
    ))}
    {refused_rows.length > 0 && (
      <ul>
        {refused_rows.slice(0, 20).map(({ line, reason }) => (
          <li key={line}>{words`Line ${line}: ${reason}`}</li>
        ))}
      </ul>
    )}
  </Dialog>
)
