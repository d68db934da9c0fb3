// How the conversation with the person of a message stands: whether any kind of message may be sent, and advertising.
import { useState } from 'preact/hooks'
import { Badge } from '../../parts/badge.tsx'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Shown } from '../../parts/page.tsx'
import { Until, When } from '../../parts/text.tsx'
import { addressOf, dataOf } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { may } from '../../state/session.ts'
import { AddOptOut } from '../opt-outs/add-opt-out.tsx'
import { RemoveOptOut } from '../opt-outs/remove-opt-out.tsx'

/** As `GET /conversations/{person}` answers. */
interface Standing {
  open: boolean | null
  open_until: string | null
  last_received_at: string | null
  opted_out: boolean
}

const EVERY_MS = 15_000

/** A card on it. `sender`: the digits of ours. */
export function Conversation({ person, sender }: { person: string; sender: string }) {
  const [asked, setAsked] = useState(false)
  const address = `/conversations/${encodeURIComponent(person)}`
  const loaded = useLoad<Standing>(
    `conversation ${person} ${sender}`,
    (signal) => dataOf('GET', address, { query: { sender }, signal }),
    EVERY_MS,
  )
  const props = { onDone: loaded.reload, onClose: () => setAsked(false) }
  const isOut = loaded.value?.opted_out
  return (
    <section class="card" aria-labelledby="conversation">
      <h2 id="conversation">Conversation</h2>
      <Shown loaded={loaded}>
        {({ open, open_until, last_received_at, opted_out }) => (
          <>
            <Facts>
              <Fact name="Window">
                <Badge tone={open === null ? 'quiet' : open ? 'good' : 'wait'}>
                  {open === null ? 'not known' : open ? 'open' : 'closed'}
                </Badge>{' '}
                {open_until !== null && (
                  <>
                    Ends <Until at={open_until} />.
                  </>
                )}
                <span class="reason">{windowMeans(open)}</span>
              </Fact>
              {last_received_at !== null && (
                <Fact name="The person wrote last">
                  <When at={last_received_at} />
                </Fact>
              )}
              <Fact name="Advertising">
                <Badge tone={opted_out ? 'wait' : 'quiet'}>{opted_out ? 'opted out' : 'not opted out'}</Badge>
              </Fact>
            </Facts>
            <div class="actions">
              {may('writeContacts') && (
                <button type="button" onClick={() => setAsked(true)}>
                  {opted_out ? 'Remove the opt-out' : 'Opt this person out'}
                </button>
              )}
              {may('run') && <a href={addressOf('/console/people', { person })}>All that is kept of the person</a>}
            </div>
          </>
        )}
      </Shown>
      {asked && (isOut ? <RemoveOptOut person={person} {...props} /> : <AddOptOut of={person} {...props} />)}
    </section>
  )
}

const windowMeans = (open: boolean | null): string =>
  open === null
    ? 'The provider does not bring what people write.'
    : open
      ? 'Any kind of message may be sent.'
      : 'Only templates reach the person, until they write again.'
