// One message: its state, why it waits, its history, and the conversation it belongs to.
import type { ComponentChildren } from 'preact'
import type { ReceivedMessage, SentMessage } from '../../../../src/messages/lookup/message-schema.ts'
import { MESSAGE_MOVES } from '../../../../src/model/messages/lifecycle.ts'
import { wordsOfPricing } from '../../../../src/model/messages/pricing-words.ts'
import { wordsOfParts } from '../../../../src/model/messages/received-words.ts'
import type { conversations } from '../../../../src/producer/api/conversations/routes.ts'
import { stepText, timelineOf } from '../logic/timeline.ts'
import { problemText } from '../logic/words.ts'
import { ask, thenNotify } from '../parts/form.tsx'
import { Card, Facts, Page, WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import {
  Badge,
  CampaignLink,
  EndsIn,
  held,
  MessageState,
  SearchLink,
  sentence,
  Text,
  Until,
  WaitReason,
  When,
  words,
} from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'
import { addressOf, call, type Data, download } from '../state/http.ts'
import { now } from '../state/live.ts'
import { may } from '../state/session.ts'
import { personOf } from './messages.tsx'
import { addOptOut, removeOptOut } from './opt-outs.tsx'

type Message = SentMessage | ReceivedMessage

const EVERY_MS = 2_000
/** States that soon change by themselves. */
const MOVING = ['queued', 'sending', 'unconfirmed', 'sent']

/** The page; it polls every 2 s while the state can change by itself. */
export function MessagePage({ id }: { id: string }) {
  const loaded = useData<Message>(`/messages/${encodeURIComponent(id)}`, ({ state }) =>
    MOVING.includes(state) ? EVERY_MS : undefined,
  )
  const message = loaded.value
  return (
    <Page
      title="Message"
      above={<a href="/console/messages">Messages</a>}
      badge={message && <MessageState state={message.state} direction={message.direction} />}
      actions={message?.direction === 'outbound' && may('send') && <Actions message={message} />}
    >
      <p class="mono">
        <Text text={id} />
      </p>
      <WhenLoaded loaded={loaded} age>
        {(found) => (
          <>
            {found.possible_duplicate &&
              held`It was sent again although an earlier attempt may have reached the person: a possible duplicate.`}
            {found.problem && (
              <p class="problem">
                <Text text={problemText(found.problem)} />
              </p>
            )}
            {found.direction === 'outbound' &&
              isCapped(found) &&
              held`The person has had enough marketing, of all businesses together. It can be sent again ${<Until at={found.problem?.capped_until ?? ''} />}.`}
            <WaitReason id={id} waits={found.waits} />
            <div class="halves">
              <Timeline history={found.history} />
              <div class="stack">
                <MessageFacts message={found} />
                {found.sender !== null && <Conversation person={personOf(found)} sender={found.sender} />}
              </div>
            </div>
          </>
        )}
      </WhenLoaded>
    </Page>
  )
}

const REQUEUEABLE: readonly string[] = MESSAGE_MOVES.requeue.from

/** The action that the state of the message allows, if any. */
function Actions({ message }: { message: SentMessage }) {
  if (message.state === 'queued') return <Button press={() => cancel(message)}>Cancel</Button>
  // The server refuses it while the person has had enough marketing.
  if (isCapped(message)) return null
  if (REQUEUEABLE.includes(message.state)) return <Button press={() => sendAgain(message)}>Send again</Button>
  return null
}

const isCapped = ({ problem }: SentMessage): boolean =>
  problem?.capped_until !== undefined && Date.parse(problem.capped_until) > now.value

const recipientOf = ({ to, text }: SentMessage) => sentence`To ${to}: ${text}`

const cancel = (message: SentMessage): void =>
  ask({
    title: 'Cancel this message',
    danger: true,
    text: recipientOf(message),
    note: 'It is never sent, unless somebody sends it again.',
    act: () => thenNotify(call('POST', `/messages/${message.id}/cancel`), 'The message is cancelled.'),
  })

const sendAgain = (message: SentMessage): void =>
  ask({
    title: 'Send this message again',
    danger: true,
    text: recipientOf(message),
    note: sentence`It goes back to its lane with a new validity.${
      message.state === 'unknown' &&
      ' Nobody knows whether the first one arrived: the person may get it twice, and it is marked as a possible duplicate.'
    }`,
    act: () => thenNotify(call('POST', `/messages/${message.id}/requeue`), 'The message is queued again.'),
  })

/** Attempts, the provider's answers and the evidence, oldest first. */
export const Timeline = ({ history }: Pick<SentMessage, 'history'>) => (
  <Card title="What happened">
    <ol class="timeline">
      {timelineOf(history).map(({ at, event, means, detail, attempt, attemptId, afterMs, tone }) => (
        <li key={`${at} ${event} ${attemptId}`}>
          <div class="spread">
            <span>
              <Badge tone={tone}>{event}</Badge>
              {attempt !== undefined && <span class="quiet"> attempt {attempt}</span>}
              {attemptId !== null && <code class="quiet"> {attemptId}</code>}
            </span>
            <span class="quiet number">
              <When at={at} millis /> {afterMs !== undefined && stepText(afterMs)}
            </span>
          </div>
          {means !== '' && <p>{means}</p>}
          {detail !== null && sentence`Answer or reason: ${detail}`}
        </li>
      ))}
    </ol>
  </Card>
)

/** The facts of a message and its text. */
function MessageFacts({ message }: { message: Message }) {
  const received = message.direction === 'inbound'
  const person = personOf(message)
  return (
    <Card title="Message">
      <Facts
        of={{
          [received ? 'From' : 'To']: (
            <SearchLink filters={received ? { from: person } : { to: person }}>{person}</SearchLink>
          ),
          [received ? 'To sender' : 'Sender']: <Text text={message.sender ?? 'gone'} />,
          Kind: <Text text={message.kind + (message.class ? `, ${message.class}` : '')} />,
          [received ? 'Received' : 'Accepted']: <When at={message.accepted_at} />,
          'Held by WhatsApp since': !received && message.held_since && <When at={message.held_since} />,
          'WhatsApp calls it': !received && message.message_status && <Text text={message.message_status} />,
          Price: !received && message.pricing && <Text text={wordsOfPricing(message.pricing)} />,
          'No marketing until': !received && message.problem?.capped_until && (
            <When at={message.problem.capped_until} />
          ),
          'Sent no later than': message.valid_until && <When at={message.valid_until} />,
          Campaign: message.campaign && <CampaignLink id={message.campaign}>{message.campaign}</CampaignLink>,
          Reference: message.reference && (
            <SearchLink filters={{ reference: message.reference }}>{message.reference}</SearchLink>
          ),
          campaign_id: message.campaign_id && (
            <SearchLink filters={{ campaign_id: message.campaign_id }}>{message.campaign_id}</SearchLink>
          ),
          'Id of WhatsApp': message.provider_id && <Text class="mono" text={message.provider_id} />,
          ...(received ? partsOf(message) : {}),
        }}
      />
      <h3>{received ? 'What the person wrote' : 'What the person reads'}</h3>
      <p class="bubble">
        <Text text={message.text} />
      </p>
    </Card>
  )
}

/** The parts of a received message besides its text. Links are not clickable; files are saved, never shown. */
export const partsOf = (message: Omit<ReceivedMessage, 'waits' | 'history'>) =>
  Object.fromEntries(
    wordsOfParts(message).map(([name, text]) => [
      name,
      <>
        <Text text={text} />{' '}
        {name === 'File' && (
          <Button
            busy="Fetching …"
            press={() =>
              download(
                `/messages/${encodeURIComponent(message.id)}/media`,
                message.media?.filename ?? `file of ${message.id}`,
              )
            }
          >
            Save the file
          </Button>
        )}
      </>,
    ]),
  )

const CONVERSATION_EVERY_MS = 5_000

const windowWords = (open: boolean | null) =>
  open === null
    ? ({ tone: 'quiet', word: 'not known', means: 'The provider does not deliver what people write.' } as const)
    : open
      ? ({ tone: 'good', word: 'open', means: 'Any kind of message may be sent.' } as const)
      : ({ tone: 'wait', word: 'closed', means: 'Only templates reach the person, until they write again.' } as const)

export type Window = Data<typeof conversations.show>

/**
 * Which messages may be sent to the person, and whether they opted out. `sender`: the digits of our number; unless given, the
 * default sender's. `children` are shown below that; without them a link leads to all that was written.
 */
export function Conversation({
  person,
  sender,
  children,
}: {
  person: string
  sender: string | undefined
  children?: (window: Window) => ComponentChildren
}) {
  const loaded = useData<Window>(`/conversations/${encodeURIComponent(person)}`, CONVERSATION_EVERY_MS, { sender })
  return (
    <Card title="Conversation">
      <WhenLoaded loaded={loaded}>
        {(found) => {
          const { open, open_until, last_received_at, opted_out } = found
          const { tone, word, means } = windowWords(open)
          return (
            <>
              <Facts
                of={{
                  Window: words`${<Badge tone={tone}>{word}</Badge>}${<EndsIn at={open_until} />}${<span class="reason">{means}</span>}`,
                  'The person wrote last': last_received_at && <When at={last_received_at} />,
                  Advertising: (
                    <Badge tone={opted_out ? 'wait' : 'quiet'}>{opted_out ? 'opted out' : 'not opted out'}</Badge>
                  ),
                }}
              />
              <div class="actions">
                {!children && <a href={addressOf('/console/conversations', { person })}>All that was written</a>}
                {may('writeContacts') &&
                  (opted_out ? (
                    <Button press={() => removeOptOut(person)}>Remove the opt-out</Button>
                  ) : (
                    <Button press={() => addOptOut(person)}>Opt this person out</Button>
                  ))}
                {may('administer') && (
                  <a href={addressOf('/console/people', { person })}>All that is kept of the person</a>
                )}
              </div>
              {children?.(found)}
            </>
          )
        }}
      </WhenLoaded>
    </Card>
  )
}
