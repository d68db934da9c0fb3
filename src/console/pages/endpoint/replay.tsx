// Telling an endpoint again what happened: first how many events that would be, then the job and how far it is.
import { useState } from 'preact/hooks'
import type { EndpointDocument } from '../../../events/endpoint.ts'
import { instantOf, localOf } from '../../logic/message-filters.ts'
import { counted, countText } from '../../logic/numbers.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Check, TextField } from '../../parts/field.tsx'
import { Shown } from '../../parts/page.tsx'
import { dataOf, idempotencyKey } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { endpointAddress } from '../endpoint.tsx'

interface Order {
  since: string
  until?: string
  failed_only: boolean
}
interface Progress {
  state: 'waiting' | 'running' | 'done'
  delivered: number
}

const POLL_MS = 700
const HOUR_MS = 3_600_000

/** Asks from when, shows what it would tell, starts it and follows it. */
export function Replay({ endpoint, onClose }: { endpoint: EndpointDocument; onClose: () => void }) {
  const [since, setSince] = useState(() => endpoint.failing_since ?? new Date(Date.now() - HOUR_MS).toISOString())
  const [until, setUntil] = useState('')
  const [failedOnly, setFailedOnly] = useState(false)
  const [order, setOrder] = useState<Order>()
  const [replay, setReplay] = useState<string>()
  if (replay !== undefined) return <Follow id={endpoint.id} replay={replay} onClose={onClose} />
  if (order !== undefined) {
    return <Ask id={endpoint.id} order={order} onStarted={setReplay} onClose={onClose} />
  }
  const count = async (): Promise<void> =>
    setOrder({ since, failed_only: failedOnly, ...(until === '' ? {} : { until }) })
  return (
    <Confirm title="Replay" verb="Count the events" ready={since !== ''} act={count} onClose={onClose}>
      <p>Tells the endpoint again what happened. First the events are counted; nothing is told yet.</p>
      <TextField
        label="Happened since"
        type="datetime-local"
        value={localOf(since)}
        onValue={(local) => setSince(instantOf(local))}
        required
      />
      <TextField
        label="And before"
        type="datetime-local"
        value={localOf(until)}
        onValue={(local) => setUntil(instantOf(local))}
        help="May stay empty: until now."
      />
      <Check checked={failedOnly} onFlip={() => setFailedOnly(!failedOnly)}>
        Only what the endpoint did not take
      </Check>
    </Confirm>
  )
}

function Ask({
  id,
  order,
  onStarted,
  onClose,
}: {
  id: string
  order: Order
  onStarted: (replay: string) => void
  onClose: () => void
}) {
  const [once] = useState(idempotencyKey)
  const loaded = useLoad<{ matched: number; complete: boolean }>('replay dry run', (signal) =>
    dataOf('POST', `${endpointAddress(id)}/replay`, { body: { ...order, dry_run: true }, signal }),
  )
  const matched = loaded.value?.matched ?? 0
  const many = `${loaded.value?.complete === false ? 'more than ' : ''}${counted(matched, 'event')}`
  const act = async (): Promise<void> => {
    const { replay_id } = await dataOf<{ replay_id: string }>('POST', `${endpointAddress(id)}/replay`, {
      body: order,
      headers: { 'Idempotency-Key': once },
    })
    onStarted(replay_id)
  }
  return (
    <Confirm
      title="Replay"
      verb={matched > 0 ? `Tell ${many} again` : 'Tell them again'}
      danger
      ready={matched > 0}
      act={act}
      onClose={onClose}
    >
      <Shown loaded={loaded}>
        {() => (
          <>
            <p role="status">
              <strong>{many}</strong> would be told. Nothing has been told yet.
            </p>
            <p>They have the same ids as before: a program that keeps the ids it knows takes none of them twice.</p>
          </>
        )}
      </Shown>
    </Confirm>
  )
}

function Follow({ id, replay, onClose }: { id: string; replay: string; onClose: () => void }) {
  const [over, setOver] = useState(false)
  const loaded = useLoad<Progress>(
    `replay ${replay}`,
    async (signal) => {
      const progress = await dataOf<Progress>('GET', `${endpointAddress(id)}/replays/${replay}`, { signal })
      setOver(progress.state === 'done')
      return progress
    },
    over ? undefined : POLL_MS,
  )
  return (
    <Dialog title="Replay" onClose={onClose}>
      <Shown loaded={loaded}>
        {({ state, delivered }) => (
          <p role="status">
            {state === 'done' ? 'Done: ' : 'Under way: '}
            {countText(delivered)} {delivered === 1 ? 'event was' : 'events were'} told again.
          </p>
        )}
      </Shown>
      <p class="quiet">
        It goes on without this page: <code>{replay}</code>.
      </p>
      <div class="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
