// Opt-outs: who wants no advertising, since when, and who recorded it.
import type { OptOut } from '../../../../src/model/people/opt-out.ts'
import { optOutSource } from '../logic/words.ts'
import { ask, thenNotify } from '../parts/form.tsx'
import { List, listAt, type Source } from '../parts/list.tsx'
import { Empty, Page, Search } from '../parts/page.tsx'
import { SearchLink, sentence } from '../parts/text.tsx'
import { addressOf, call, dataOf, Refused } from '../state/http.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'

/** A list of one person, or of none without an opt-out. */
const onePerson = (person: string): Source<OptOut> => ({
  key: `opt-out ${person}`,
  async load(_cursor, signal) {
    const address = `/opt-outs/${encodeURIComponent(person)}`
    try {
      return { data: [await dataOf<OptOut>('GET', address, { signal })], next: null }
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return { data: [], next: null }
      throw error
    }
  },
})

/** The list, with buttons to add and remove; `?person=` finds one. */
export function OptOuts() {
  const person = place.value.query.get('person') ?? ''
  const mayWrite = may('writeContacts')
  return (
    <Page title="Opt-outs" main={mayWrite && ['Add an opt-out', () => addOptOut()]}>
      <p>People who want no advertising: campaigns leave them out, and MARKETING templates to them are cancelled.</p>
      <Search
        label="Number or user id"
        value={person}
        to={(text) => addressOf('/console/opt-outs', { person: text })}
      />
      <List
        key={person}
        cards
        caption="Opt-outs"
        from={person === '' ? listAt<OptOut>('/opt-outs', { limit: 50 }) : onePerson(person)}
        keyOf={(each) => each.person}
        empty={<None isOne={person !== ''} />}
        columns={[
          {
            title: 'Person',
            head: true,
            cell: (each) => <SearchLink filters={{ to: each.person }}>{each.person}</SearchLink>,
          },
          { title: 'Since', at: ({ since }) => since },
          { title: 'Recorded by', cell: ({ source }) => optOutSource(source) },
        ]}
        actions={mayWrite && (({ person }) => [['Remove', `the opt-out of ${person}`, () => removeOptOut(person)]])}
      />
    </Page>
  )
}

const None = ({ isOne }: { isOne: boolean }) =>
  isOne ? (
    <Empty title="This person has not opted out.">
      <a href="/console/opt-outs">Show everybody who has</a>
    </Empty>
  ) : (
    <Empty title="Nobody has opted out.">
      People who write STOP, or opt out at WhatsApp, are added automatically. Add those here who tell you in another
      way.
    </Empty>
  )

/** Opts a person out; asks whom, unless `known`. */
export const addOptOut = (known?: string): void =>
  ask({
    title: 'Add an opt-out',
    verb: 'Opt out',
    text: known !== undefined && sentence`${known}`,
    fields: {
      person: {
        label: 'Number or user id',
        placeholder: '+44 7700 900155',
        required: true,
        when: () => known === undefined,
      },
    },
    note: 'No campaign and no MARKETING template reaches this person from now on, until the opt-out is removed.',
    ready: ({ person }) => (known ?? person.trim()) !== '',
    act: ({ person }, headers) =>
      thenNotify(call('POST', '/opt-outs', { body: { person: known ?? person.trim() }, headers }), 'Opted out.'),
  })

/** Removes an opt-out, after a dialog that shows what follows. */
export const removeOptOut = (person: string): void =>
  ask({
    title: 'Remove an opt-out',
    verb: 'Remove the opt-out',
    danger: true,
    text: sentence`Campaigns that are checked or sent from now on reach ${person} again. Do it only if this person has asked
      for it.`,
    act: () => thenNotify(call('DELETE', `/opt-outs/${encodeURIComponent(person)}`), 'The opt-out is removed.'),
  })
