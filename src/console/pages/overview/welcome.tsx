// What a first-time reader sees above the figures: an invitation to send the first message, and in the demo the switch of
// the made-up traffic.
import type { ListedMessage } from '../../../lookup/message-schema.ts'
import { call, type Page } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { may } from '../../state/session.ts'
import { DemoSwitch } from '../start/demo-switch.tsx'

const EVERY_MS = 5_000

/** The invitation, as long as nothing has ever been sent. */
export function Welcome() {
  const first = useLoad<Page<ListedMessage>>(
    may('see') && may('send') ? 'first message' : undefined,
    (signal) => call('GET', '/messages', { query: { limit: 1, direction: 'outbound' }, signal }),
    EVERY_MS,
  )
  const isNew = first.value !== undefined && first.value.data.length === 0 && first.value.next === null
  return (
    <>
      {isNew && (
        <section class="card welcome" aria-labelledby="welcome">
          <h2 id="welcome">Nothing has been sent yet</h2>
          <p>Send one message and watch it: accepted, claimed, sent, delivered, each with its evidence.</p>
          <a class="button primary" href="/console/start">
            Send the first message
          </a>
        </section>
      )}
      <DemoSwitch />
    </>
  )
}
