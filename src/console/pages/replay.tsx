// Replays events to an endpoint: counts them first, then starts a job and follows it.
import type { events } from '../../producer/api/events/routes.ts'
import { counted, countText } from '../logic/numbers.ts'
import { ask, Confirm, Dialog, openDialog } from '../parts/form.tsx'
import { WhenLoaded } from '../parts/page.tsx'
import { useData, useLoad } from '../state/hooks.ts'
import { type Data, dataOf } from '../state/http.ts'

interface Order {
  since: string
  until?: string
  failed_only: boolean
}

const POLL_MS = 700
const HOUR_MS = 3_600_000

/** Asks for the time span; for a failing endpoint it starts with the first failure. `at` is its address in the API. */
export const replay = (at: string, failingSince: string | null): void =>
  ask({
    title: 'Replay',
    verb: 'Count the events',
    text: 'Sends the endpoint again what happened. First the events are counted; nothing is sent yet.',
    fields: {
      since: {
        kind: 'time',
        label: 'Happened since',
        value: failingSince ?? new Date(Date.now() - HOUR_MS).toISOString(),
        required: true,
      },
      until: { kind: 'time', label: 'And before', help: 'Optional: otherwise until now.' },
      failed_only: { kind: 'check', label: 'Only what the endpoint did not accept' },
    },
    ready: ({ since }) => since !== '',
    act: async ({ since, until, failed_only }) => {
      const order = { since, failed_only, ...(until === '' ? {} : { until }) }
      openDialog(<Start at={at} order={order} />)
    },
  })

function Start({ at, order }: { at: string; order: Order }) {
  const loaded = useLoad<{ matched: number; complete: boolean }>('replay dry run', (signal) =>
    dataOf('POST', `${at}/replay`, { body: { ...order, dry_run: true }, signal }),
  )
  const { matched = 0, complete = true } = loaded.value ?? {}
  const many = `${complete ? '' : 'more than '}${counted(matched, 'event')}`
  return (
    <Confirm
      title="Replay"
      verb={matched > 0 ? `Send ${many} again` : 'Send them again'}
      danger
      text={
        <WhenLoaded loaded={loaded}>
          {() => (
            <>
              <p role="status">
                <strong>{many}</strong> would be sent. Nothing has been sent yet.
              </p>
              <p>They have the same ids as before: a program that keeps the ids it knows takes none of them twice.</p>
            </>
          )}
        </WhenLoaded>
      }
      ready={() => matched > 0}
      act={async (_values, headers) => {
        const how = { body: order, headers }
        const { replay_id } = await dataOf<{ replay_id: string }>('POST', `${at}/replay`, how)
        openDialog(<Follow at={at} id={replay_id} />)
      }}
    />
  )
}

function Follow({ at, id }: { at: string; id: string }) {
  const loaded = useData<Data<typeof events.replayed>>(`${at}/replays/${id}`, ({ state }) =>
    state === 'done' ? undefined : POLL_MS,
  )
  return (
    <Dialog title="Replay" close="Close">
      <WhenLoaded loaded={loaded}>
        {({ state, delivered }) => (
          <p role="status">
            {state === 'done' ? 'Done: ' : 'Under way: '}
            {countText(delivered)} {delivered === 1 ? 'event was' : 'events were'} sent again.
          </p>
        )}
      </WhenLoaded>
      <p class="quiet">
        It goes on without this page: <code>{id}</code>.
      </p>
    </Dialog>
  )
}
