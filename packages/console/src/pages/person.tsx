// Shows, saves and erases everything that is kept of one person.
import { useEffect, useState } from 'preact/hooks'
import type { z } from 'zod'
import type { erasureSchema, people } from '../../../../src/producer/api/people/routes.ts'
import { counted } from '../logic/numbers.ts'
import { optOutSource } from '../logic/words.ts'
import { ask, closeDialog } from '../parts/form.tsx'
import { Table } from '../parts/list.tsx'
import { Card, Empty, Facts, Page, Search, WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { Badge, CampaignLink, MessageState, Text, When, words } from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'
import { addressOf, dataOf, download } from '../state/http.ts'
import { place } from '../state/router.ts'
import { MESSAGES } from './messages.tsx'

type Kept = z.infer<(typeof people.show.answers)[200]['schema']>['data']
type Erasure = z.infer<typeof erasureSchema>

const addressOfPerson = (person: string): string => `/admin/people/${encodeURIComponent(person)}`

/** The page; `?person=` names the person. */
export function Person() {
  const person = place.value.query.get('person') ?? ''
  const [job, setJob] = useState<string>()
  const loaded = useData<Kept>(person === '' ? undefined : addressOfPerson(person))
  const kept = loaded.value
  const actions = kept && (
    <>
      <Button busy="Saving …" press={() => download(addressOfPerson(person), 'person.json')}>
        Save as a file
      </Button>
      <Button variant="danger" press={() => erase(kept, setJob)}>
        Erase
      </Button>
    </>
  )
  return (
    <Page title="Data of a person" actions={actions}>
      <p>All that the account keeps of one person: to show or save it when they ask, and to erase it.</p>
      <Search
        label="Number or user id"
        verb="Show"
        value={person}
        to={(text) => addressOf('/console/people', { person: text })}
      />
      {job !== undefined && <Erased job={job} onDone={loaded.reload} />}
      {person === '' ? (
        <Empty title="Whose data?">Give the full international number, or WhatsApp’s id of a person without one.</Empty>
      ) : (
        <WhenLoaded loaded={loaded} age>
          {(found) => <KeptOfPerson kept={found} />}
        </WhenLoaded>
      )}
    </Page>
  )
}

/** Most rows of a table. The saved file has all. */
const SHOWN = 20

function KeptOfPerson({ kept: { person, contact, opt_out, messages, campaigns, files } }: { kept: Kept }) {
  if (contact === null && opt_out === null && messages.length + campaigns.length + files.length === 0) {
    return (
      <Empty title="Nothing is kept of this person.">
        This account has no contact, message, opt-out or line of a campaign of <Text text={person} />.
      </Empty>
    )
  }
  return (
    <>
      <Card title={<Text text={person} />}>
        <Facts
          of={{
            Contact: (
              <Text
                text={
                  contact === null ? 'none' : [contact.name, contact.phone, contact.email].filter(Boolean).join(', ')
                }
              />
            ),
            Advertising:
              opt_out === null ? (
                <Badge tone="quiet">not opted out</Badge>
              ) : (
                words`${<Badge tone="wait">opted out</Badge>} ${<When at={opt_out.since} />}, ${optOutSource(opt_out.source)}`
              ),
            Messages: counted(messages.length, 'message'),
            Campaigns: counted(campaigns.length, 'campaign'),
            ...(files.length > 0 && { Gallery: counted(files.length, 'file') }),
          }}
        />
      </Card>
      {campaigns.length > 0 && (
        <Card title="Campaigns">
          <Table
            cards
            caption="Campaigns"
            rows={campaigns.slice(0, SHOWN)}
            keyOf={({ campaign }) => campaign}
            columns={[
              {
                title: 'Campaign',
                head: true,
                cell: ({ campaign }) => <CampaignLink id={campaign}>{campaign}</CampaignLink>,
              },
              { title: 'Campaign is', cell: ({ campaign_state }) => campaign_state },
              {
                title: 'Message',
                cell: ({ state }) => (state === null ? 'not taken up' : <MessageState state={state} />),
              },
              { title: 'Filled in', long: true, text: ({ values }) => values.join(', ') },
            ]}
          />
          <Rest count={campaigns.length} />
        </Card>
      )}
      {messages.length > 0 && (
        <Card title="Messages">
          <Table {...MESSAGES} rows={messages.slice(0, SHOWN)} />
          <Rest count={messages.length} />
        </Card>
      )}
    </>
  )
}

const Rest = ({ count }: { count: number }) =>
  count > SHOWN ? (
    <p class="quiet">
      The first {SHOWN} of {counted(count, 'line')}; all of them are in the saved file.
    </p>
  ) : null

const bare = (text: string): string => text.replace(/[\s+().-]/g, '')

/** Erasure cannot be undone, so the number or id has to be typed again. */
const erase = ({ person, contact, messages, campaigns, files }: Kept, onJob: (job: string) => void): void =>
  ask({
    title: 'Erase a person',
    verb: 'Erase for good',
    danger: true,
    text: (
      <p>
        Erased are {contact === null ? 'no contact' : 'the contact'}, the number and text of{' '}
        {counted(messages.length, 'message')}, the lines of {counted(campaigns.length, 'campaign')}, and{' '}
        {counted(files.length, 'file')} of the gallery. What waits to be sent to <Text text={person} /> is cancelled.
        Figures stay as they are. There is no way back.
      </p>
    ),
    fields: { typed: { label: 'The number or user id once more', required: true, autocomplete: 'off' } },
    ready: ({ typed }) => bare(typed) === bare(person),
    act: async () => {
      const { job_id } = await dataOf<{ job_id: string }>('DELETE', addressOfPerson(person))
      onJob(job_id)
      closeDialog()
    },
  })

const EVERY_MS = 1_000
const OUTCOMES: Readonly<Record<string, readonly ['good' | 'bad', string]>> = {
  done: ['good', 'erased'],
  failed: ['bad', 'failed'],
}

/** What happened in WhatsApp's contact book. */
const BOOKS: Readonly<Record<NonNullable<Erasure['contact_book']>, string>> = {
  none: '',
  no_user_id: ' Meta may keep their number in its contact book: no user id is known to delete them by.',
  waiting: ' WhatsApp is asked to delete them from its contact book.',
  deleted: ' WhatsApp has deleted them from its contact book.',
  not_found: ' WhatsApp does not have them in its contact book.',
  refused: ' WhatsApp refused to delete them from its contact book: do it there.',
  failed: ' WhatsApp could not be asked to delete them from its contact book: do it there.',
}

/** The progress of an erasure, and in the end what it has erased. */
function Erased({ job, onDone }: { job: string; onDone: () => void }) {
  const loaded = useData<Erasure>(`/jobs/${job}`, ({ state }) => (state in OUTCOMES ? undefined : EVERY_MS))
  const isOver = loaded.value !== undefined && loaded.value.state in OUTCOMES
  useEffect(() => {
    if (isOver) onDone()
  }, [isOver])
  return (
    <WhenLoaded loaded={loaded}>
      {({ state, contacts, messages, received, recipients, contact_book: book }) => {
        const [tone, word] = OUTCOMES[state] ?? ['busy', 'being erased']
        return (
          <p role="status">
            <Badge tone={tone}>{word}</Badge> {counted(contacts, 'contact')}, {counted(messages, 'message')} sent,{' '}
            {counted(received, 'message')} received, {counted(recipients, 'line')} of campaigns.
            {book !== null && BOOKS[book]}
            {state === 'failed' && ' The log of the worker has the reason. Erase again to try again.'}
          </p>
        )
      }}
    </WhenLoaded>
  )
}
