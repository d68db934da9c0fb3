// One real message of the campaign to one number, with the values of the sample person.
import { useState } from 'preact/hooks'
import type { SentMessage } from '../../../messages/lookup/message-schema.ts'
import { componentsOf, type Fillings, type Template } from '../../logic/template-slots.ts'
import { MessageState } from '../../parts/badge.tsx'
import { TextField } from '../../parts/field.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Said } from '../../parts/text.tsx'
import { useAct, useOnce } from '../../state/act.ts'
import { call, dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'

const POLL_MS = 700
const OVER = ['delivered', 'read', 'failed', 'expired', 'cancelled', 'unknown']

/** The field for the number, the button, and what became of it. */
export function TestSend({ sender, template, fillings }: { sender: string; template: Template; fillings: Fillings }) {
  const [to, setTo] = useState('')
  const [sent, setSent] = useState<string>()
  const { headersFor, made } = useOnce()
  const { busy, refusal, isBack, run } = useAct(async () => {
    setSent(undefined)
    const body = {
      to,
      sender,
      recipient_type: 'individual',
      messaging_product: 'chatapp',
      type: 'template',
      campaign_id: 'test send',
      template: {
        name: template.name,
        language: { code: template.language },
        components: componentsOf(template, fillings),
      },
    }
    const how = { headers: headersFor(body), body }
    const { messages } = await call<{ messages: { id: string }[] }>(
      'POST',
      '/chatappbusiness/send-templated-message',
      how,
    )
    made()
    setSent(messages[0]?.id)
  })
  return (
    <section class="card" aria-labelledby="test-send">
      <h2 id="test-send">Test send</h2>
      <p>Sends this one message, with the values of the sample, to a number of yours.</p>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void run()
        }}
      >
        <TextField label="To" value={to} onValue={setTo} required placeholder="+44 7700 900123" />
        <button type="submit" disabled={busy}>
          Send the test
        </button>
      </form>
      <Problem refusal={refusal} isBack={isBack} />
      {sent !== undefined && <Followed key={sent} id={sent} />}
    </section>
  )
}

/** What became of a message that was just sent: its state, kept fresh until it is over. */
function Followed({ id }: { id: string }) {
  const [over, setOver] = useState(false)
  const loaded = useLoad<SentMessage>(
    `followed ${id}`,
    async (signal) => {
      const message = await dataOf<SentMessage>('GET', `/messages/${id}`, { signal })
      setOver(OVER.includes(message.state))
      return message
    },
    over ? undefined : POLL_MS,
  )
  const message = loaded.value
  return (
    <p role="status">
      {message ? <MessageState state={message.state} /> : 'accepted'}{' '}
      {message?.problem && <Said text={`${message.problem.sentence} `} />}
      {message?.waits && <Said text={`${message.waits.sentence} `} />}
      <a href={`/console/messages/${id}`}>See the message</a>
    </p>
  )
}
