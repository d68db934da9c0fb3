// The conversation with a person: what was sent and received, the newest first, and a box to answer from the number that they
// wrote to. Without a person: who wrote last.
import { useEffect, useState } from 'preact/hooks'
import { previewOf } from '../logic/template-preview.ts'
import {
  type Fillings,
  openSlots,
  SLOT_HELP,
  slotsOf,
  type Template,
  templateMessage,
} from '../logic/template-slots.ts'
import {
  type Entry,
  entriesOf,
  lastReceived,
  type Received,
  type Thread,
  withNewest,
  withOlder,
} from '../logic/thread.ts'
import { problemText } from '../logic/words.ts'
import { Field } from '../parts/fields.tsx'
import { Form, thenNotify } from '../parts/form.tsx'
import { List, listAt, Table } from '../parts/list.tsx'
import { Empty, Facts, Page, Search, WhenLoaded } from '../parts/page.tsx'
import { Button, notify } from '../parts/press.tsx'
import { Preview } from '../parts/preview.tsx'
import { TemplateChoice } from '../parts/template-choice.tsx'
import { MessageState, sentence, Text, When, words } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { addressOf, call } from '../state/http.ts'
import { place } from '../state/router.ts'
import { may } from '../state/session.ts'
import { Conversation, partsOf, type Window } from './message.tsx'

const addressOfPerson = (person: string): string => addressOf('/console/conversations', { person })

/** The page; `?person=` names the person. */
export function Conversations() {
  const person = place.value.query.get('person') ?? ''
  return (
    <Page title={person === '' ? 'Conversations' : `Conversation with ${person}`}>
      <Search label="Number or user id" verb="Show" value={person} to={addressOfPerson} />
      {person !== '' ? <WithPerson person={person} /> : may('viewMessages') && <Latest />}
    </Page>
  )
}

const EVERY_MS = 5_000

/** What people wrote last, whoever they are. */
const Latest = () => (
  <List
    caption="What people wrote last"
    from={listAt<Received>('/messages', { direction: 'inbound', limit: 50 })}
    every={EVERY_MS}
    keyOf={({ id }) => id}
    columns={[
      { title: 'Person', head: true, href: ({ from }) => addressOfPerson(from), text: ({ from }) => from },
      { title: 'Wrote', cell: ({ text }) => <Text class="excerpt" text={text} /> },
      { title: 'At', at: ({ accepted_at }) => accepted_at },
    ]}
    more="Show older ones"
    empty={<Empty title="Nobody has written yet.">Give a number to see what was sent to it.</Empty>}
  />
)

const LIMIT = 50

/** A page that is short although there is more cost the server a long search. */
const pauseAfter = ({ data, next }: Thread): number => (next === null || data.length === LIMIT ? 2_000 : 10_000)

function WithPerson({ person }: { person: string }) {
  const path = `/conversations/${encodeURIComponent(person)}/messages`
  const load = (query: object, signal?: AbortSignal) =>
    call<Thread>('GET', path, { query: { limit: LIMIT, ...query }, signal })
  const [known, setKnown] = useState<Thread>()
  const loaded = useLoad(path, (signal) => load({}, signal), pauseAfter)
  const page = loaded.value
  useEffect(() => {
    if (page) setKnown((old) => withNewest(old, page))
  }, [page])
  const thread = known ?? page
  const more = async (cursor: string): Promise<void> => {
    const older = await load({ cursor })
    setKnown((old) => old && withOlder(old, cursor, older))
  }
  const inThread = thread && lastReceived(thread)
  /** What the person wrote before all that is shown. */
  const before = useLoad(thread && !inThread ? `${path} last` : undefined, async (signal) => {
    let next: string | null = null
    do {
      const found: Thread = await load({ limit: 1, direction: 'inbound', cursor: next ?? undefined }, signal)
      if (found.data.length > 0) return lastReceived(found)
      next = found.next
    } while (next !== null)
    return undefined
  })
  const last = inThread ?? before.value
  return (
    <div class="halves">
      <div class="stack">
        {(inThread || before.at > 0) && (
          <Conversation person={person} sender={last?.sender ?? undefined}>
            {(window) => may('send') && <Answer window={window} last={last} />}
          </Conversation>
        )}
      </div>
      <div class="stack">
        <WhenLoaded loaded={{ ...loaded, value: thread }} age>
          {(shown) =>
            shown.data.length > 0 ? (
              <ol class="thread" aria-label="Messages, the newest first">
                {entriesOf(shown).map((entry) => (
                  <Line key={entry.message.id} {...entry} />
                ))}
              </ol>
            ) : (
              shown.next === null && <Empty title="No message with this person." />
            )
          }
        </WhenLoaded>
        {thread?.next && (
          <Button busy="Loading …" press={() => more(thread.next ?? '')}>
            {thread.data.length === 0 ? 'Look further back' : 'Show older ones'}
          </Button>
        )}
      </div>
    </div>
  )
}

/** A message with what belongs to it. */
function Line({ message, answered, reaction }: Entry) {
  const received = message.direction === 'inbound'
  return (
    <li class={received ? 'theirs' : ''}>
      <p class="quiet">
        {received ? 'They wrote' : 'You sent'}{' '}
        <a href={`/console/messages/${encodeURIComponent(message.id)}`}>
          <When at={message.accepted_at} />
        </a>{' '}
        {words`${received ? 'to' : 'from'} ${message.sender ?? 'a number that is gone'} `}
        {!received && <MessageState state={message.state} />}
      </p>
      <div class="bubble">
        {answered !== undefined && (
          <blockquote class="quiet">
            <Text class="excerpt" text={answered} />
          </blockquote>
        )}
        <p>
          <Text text={message.text || message.kind} />
        </p>
        {received && <Parts message={message} />}
      </div>
      {reaction !== '' && sentence`They reacted: ${reaction}`}
      {message.problem && (
        <p class="reason">
          <Text text={problemText(message.problem)} />
        </p>
      )}
    </li>
  )
}

/** What a received message holds besides its text. */
function Parts({ message }: { message: Received }) {
  const {
    Name: _name,
    Username: _username,
    'User id': _id,
    Answers: _answers,
    Form: form,
    ...others
  } = partsOf(message)
  const answers = message.flow?.response
  return (
    <>
      <Facts of={answers ? others : { ...others, Form: form }} />
      {answers && (
        <Table
          caption="Answers of the form"
          rows={Object.entries(answers)}
          keyOf={([field]) => field}
          columns={[
            { title: 'Field', head: true, text: ([field]) => field },
            {
              title: 'Answer',
              long: true,
              text: ([, value]) => (typeof value === 'string' ? value : JSON.stringify(value)),
            },
          ]}
        />
      )}
    </>
  )
}

/** The box to answer. `last` is what the person wrote last. */
function Answer({ window, last }: { window: Window; last: Received | undefined }) {
  const { person: to, sender, open } = window
  const [answers, setAnswers] = useState(0)
  const again = () => setAnswers(answers + 1)
  return (
    <>
      <h3>Answer</h3>
      {sentence`From ${sender}, ${last ? 'the number that they wrote to' : 'the default sender: they have not written'}.`}
      {open !== false && (
        <Form
          key={answers}
          verb="Send the text"
          fields={{ text: { kind: 'lines', label: 'Text', required: true } }}
          act={({ text }, headers) => {
            const body = {
              sender,
              to,
              recipient_type: 'individual',
              messaging_product: 'chatapp',
              type: 'text',
              text: { body: text },
            }
            return sends('/sendservicemessages/sendmessages', body, headers)
          }}
          onDone={again}
        />
      )}
      {open !== true && may('readTemplates') && (
        <TemplateAnswer key={-answers} sender={sender} to={to} onDone={again} />
      )}
      {last && open !== null && (
        <Button press={() => call('POST', `/messages/${encodeURIComponent(last.id)}/read`).then(() => notify(READ))}>
          Mark as read
        </Button>
      )}
    </>
  )
}

const READ = 'Marked as read.'

const sends = (path: string, body: object, headers: Readonly<Record<string, string>>) =>
  thenNotify(call('POST', path, { body, headers }), 'The answer is on its way.')

/** An approved template with its values: all that may be sent while the window is closed. */
function TemplateAnswer({ onDone, ...address }: { sender: string; to: string; onDone: () => void }) {
  const [template, setTemplate] = useState<Template>()
  const [fillings, setFillings] = useState<Fillings>(new Map())
  const slots = template ? slotsOf(template) : []
  return (
    <>
      <TemplateChoice
        template={template}
        only={({ status, cannot_be_sent: reason }) => status === 'APPROVED' && reason === null}
        onChosen={(chosen) => {
          setTemplate(chosen)
          setFillings(new Map())
        }}
      />
      {slots.map(({ id, kind, label, optional }) => {
        const filling = fillings.get(id)
        return (
          <Field
            key={id}
            kind={kind === 'moment' ? 'time' : 'text'}
            label={optional ? `${label} (optional)` : label}
            help={SLOT_HELP[kind]}
            value={filling && 'fixed' in filling ? filling.fixed : ''}
            onValue={(fixed) => setFillings(new Map([...fillings, [id, { fixed }]]))}
          />
        )
      })}
      {template && (
        <>
          <Preview content={previewOf(template, fillings)} />
          <Form
            verb="Send the template"
            about={[template.name, template.language, ...fillings]}
            ready={() => openSlots(slots, fillings).length === 0}
            act={(_values, headers) =>
              sends('/chatappbusiness/send-templated-message', templateMessage(address, template, fillings), headers)
            }
            onDone={onDone}
          />
        </>
      )}
    </>
  )
}
