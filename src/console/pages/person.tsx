// All that is kept of one person: to show it to them, to save it for them, and to forget it.
import { useState } from 'preact/hooks'
import { TextField } from '../parts/field.tsx'
import { Age, Empty, Page, Shown } from '../parts/page.tsx'
import { addressOf, dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { go, place } from '../state/router.ts'
import { Erased, ErasePerson } from './person/erase-person.tsx'
import { type Kept, KeptOfPerson } from './person/kept.tsx'
import { SavePerson } from './person/save-person.tsx'

/** `?person=` says whose. */
export function Person() {
  const person = place.value.query.get('person') ?? ''
  const [wanted, setWanted] = useState(person)
  const [asked, setAsked] = useState(false)
  const [job, setJob] = useState<string>()
  const loaded = useLoad<Kept>(person === '' ? undefined : `person ${person}`, (signal) =>
    dataOf('GET', `/admin/people/${encodeURIComponent(person)}`, { signal }),
  )
  const kept = loaded.value
  return (
    <Page
      title="Data of a person"
      actions={
        kept && (
          <>
            <SavePerson person={person} />
            <button type="button" class="danger" onClick={() => setAsked(true)}>
              Erase
            </button>
          </>
        )
      }
    >
      <p>All that the account keeps of one person: to show or save it when they ask, and to forget it.</p>
      <search>
        <form
          class="filters"
          onSubmit={(event) => {
            event.preventDefault()
            go(addressOf('/console/people', { person: wanted.trim() }))
          }}
        >
          <TextField label="Number or user id" type="search" value={wanted} onValue={setWanted} />
          <div>
            <button type="submit" class="primary">
              Show
            </button>
          </div>
        </form>
      </search>
      {job !== undefined && <Erased job={job} onDone={loaded.reload} />}
      {person === '' ? (
        <Empty title="Whose data?">
          <p>Give the full international number, or WhatsApp’s id of a person without one.</p>
        </Empty>
      ) : (
        <>
          <Age loaded={loaded} />
          <Shown loaded={loaded}>{(found) => <KeptOfPerson kept={found} />}</Shown>
        </>
      )}
      {asked && kept && <ErasePerson kept={kept} onJob={setJob} onClose={() => setAsked(false)} />}
    </Page>
  )
}
