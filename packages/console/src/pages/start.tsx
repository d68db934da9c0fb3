// Sends a first message: the form is filled in already, and the page shows each step of the delivery.
import { useState } from 'preact/hooks'
import type { SentMessage } from '../../../../src/messages/lookup/message-schema.ts'
import { DemoSwitch, demo } from '../parts/demo.tsx'
import { Form } from '../parts/form.tsx'
import { Card, Page, WhenLoaded } from '../parts/page.tsx'
import { Preview } from '../parts/preview.tsx'
import { MessageState, Text } from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'
import { call } from '../state/http.ts'
import { senderChoices } from '../state/library.ts'
import { session } from '../state/session.ts'
import { Timeline } from './message.tsx'

/** In the demo, a number that the simulator delivers to. */
const DEMO_NUMBER = '+44 7700 900123'

/** The choice for a request without a sender. */
const DEFAULT_SENDER = ['', 'The default sender'] as const

/** The page for a first message. */
export function Start() {
  const inDemo = demo.value?.available === true
  const [seen, setSeen] = useState({ heading: 'Hello', text: 'This is the first message that I send with Laneway.' })
  const [sent, setSent] = useState<string>()
  // A key for some senders may not include the default one.
  const senders = [...(session.value?.default_sender ? [DEFAULT_SENDER] : []), ...senderChoices()]
  return (
    <Page title="Send a message">
      <div class="writing">
        <div class="stack">
          {/* Before it is known whether this is a demo, what somebody types would be lost to the number of one. */}
          {demo.value !== undefined && (
            <Form
              key={String(inDemo)}
              variant="card"
              verb={sent === undefined ? 'Send it' : 'Send another one'}
              onValues={setSeen}
              fields={{
                sender: { label: 'Sender', options: senders, value: senders[0]?.[0] ?? '' },
                to: {
                  label: 'To',
                  required: true,
                  value: inDemo ? DEMO_NUMBER : '',
                  help: inDemo
                    ? 'A simulator stands in for WhatsApp: no real person gets anything.'
                    : 'A number of yours, with its country code. Real people get real messages.',
                },
                heading: { label: 'Heading', required: true, value: seen.heading },
                text: { label: 'Text', required: true, value: seen.text },
              }}
              act={async (values, headers) => {
                const how = { body: messageOf(values), headers }
                const path = '/sendservicemessages/sendmessages'
                setSent((await call<{ messages: { id: string }[] }>('POST', path, how)).messages[0]?.id)
              }}
            />
          )}
          {sent !== undefined && (
            <Followed key={sent} id={sent}>
              {(message) => <Timeline history={message.history} />}
            </Followed>
          )}
        </div>
        <div class="stack">
          <Card title="Preview">
            <Preview
              content={{ heading: seen.heading, body: seen.text, buttons: [{ label: REPLY, detail: '' }], cards: [] }}
            />
          </Card>
          <DemoSwitch />
        </div>
      </div>
    </Page>
  )
}

const REPLY = 'Hello back'

const messageOf = ({ sender, to, heading, text }: { sender: string; to: string; heading: string; text: string }) => ({
  to,
  ...(sender !== '' && { sender }),
  recipient_type: 'individual',
  messaging_product: 'chatapp',
  type: 'interactive',
  interactive: {
    type: 'button',
    header: { type: 'text', text: heading },
    body: { text },
    action: { buttons: [{ type: 'reply', reply: { id: 'hello', title: REPLY } }] },
  },
})

const POLL_MS = 400
const SLOW_MS = 5_000
const OVER = ['delivered', 'read', 'failed', 'expired', 'cancelled', 'unknown']

/** Follows a message that was just sent. */
export function Followed({
  id,
  children,
}: {
  id: string
  children?: (message: SentMessage) => preact.ComponentChildren
}) {
  const loaded = useData<SentMessage>(`/messages/${id}`, ({ state }) => (OVER.includes(state) ? SLOW_MS : POLL_MS))
  return (
    <WhenLoaded loaded={loaded}>
      {(message) => (
        <>
          <p role="status">
            <MessageState state={message.state} />{' '}
            {message.state === 'delivered' || message.state === 'read' ? 'It has arrived. ' : ''}
            {message.problem && <Text text={`${message.problem.sentence} `} />}
            {message.waits && <Text text={`${message.waits.sentence} `} />}
            <a href={`/console/messages/${id}`}>See the message</a>
          </p>
          {children?.(message)}
        </>
      )}
    </WhenLoaded>
  )
}
