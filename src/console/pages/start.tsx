// The first message: what to send is filled in, one button sends it, and everything that happens to it is shown.
import { useState } from 'preact/hooks'
import { Choice, TextField } from '../parts/field.tsx'
import { Page } from '../parts/page.tsx'
import { Preview } from '../parts/preview.tsx'
import { Problem } from '../parts/problem.tsx'
import { useAct, useOnce } from '../state/act.ts'
import { demo } from '../state/demo.ts'
import { call } from '../state/http.ts'
import { senderChoices } from '../state/library.ts'
import { session } from '../state/session.ts'
import { DemoSwitch } from './start/demo-switch.tsx'
import { Journey } from './start/journey.tsx'

/** In the demo, a number that the simulator delivers to. */
const DEMO_NUMBER = '+44 7700 900123'

/** Where nothing is said of the sender. */
const DEFAULT_SENDER = ['', 'The default sender'] as const

/** The page of whoever has not sent anything yet. */
export function Start() {
  const inDemo = demo.value?.available === true
  const [to, setTo] = useState<string>()
  const [chosen, setChosen] = useState<string>()
  const [heading, setHeading] = useState('Hello')
  const [text, setText] = useState('This is the first message that I send with Laneway.')
  const [sent, setSent] = useState<string>()
  const number = to ?? (inDemo ? DEMO_NUMBER : '')
  // A key that is for some senders only may not be for the default one.
  const senders = [...(session.value?.default_sender ? [DEFAULT_SENDER] : []), ...senderChoices()]
  const sender = chosen ?? senders[0]?.[0] ?? ''
  const { headersFor, made } = useOnce()
  const { busy, refusal, isBack, run } = useAct(async () => {
    const body = {
      to: number,
      ...(sender !== '' && { sender }),
      recipient_type: 'individual',
      messaging_product: 'chatapp',
      type: 'interactive',
      interactive: {
        type: 'button',
        header: { type: 'text', text: heading },
        body: { text },
        action: { buttons: [{ type: 'reply', reply: { id: 'hello', title: 'Hello back' } }] },
      },
    }
    const how = { headers: headersFor(body), body }
    const { messages } = await call<{ messages: { id: string }[] }>('POST', '/sendservicemessages/sendmessages', how)
    made()
    setSent(messages[0]?.id)
  })
  const send = (event: Event): void => {
    event.preventDefault()
    void run()
  }
  return (
    <Page title="Send a message">
      <div class="writing">
        <div class="stack">
          <form class="card" onSubmit={send}>
            <Choice label="Sender" value={sender} onValue={setChosen} options={senders} />
            <TextField
              label="To"
              value={number}
              onValue={setTo}
              required
              help={
                inDemo
                  ? 'A simulator stands in for WhatsApp: no real person gets anything.'
                  : 'A number of yours, with its country code. Real people get real messages.'
              }
            />
            <TextField label="Heading" value={heading} onValue={setHeading} required />
            <TextField label="Text" value={text} onValue={setText} required />
            <Problem refusal={refusal} isBack={isBack} />
            <button type="submit" class="primary" disabled={busy}>
              {sent === undefined ? 'Send it' : 'Send another one'}
            </button>
          </form>
          {sent !== undefined && <Journey key={sent} id={sent} />}
        </div>
        <div class="stack">
          <section class="card" aria-labelledby="preview">
            <h2 id="preview">Preview</h2>
            <Preview seen={{ heading, body: text, buttons: [{ label: 'Hello back', detail: '' }], cards: [] }} />
          </section>
          <DemoSwitch />
        </div>
      </div>
    </Page>
  )
}
