// Replays events to an endpoint.
import type { events } from '../../../../src/producer/api/events/routes.ts'
import { counted, countText } from '../logic/numbers.ts'
import { ask } from '../parts/form.tsx'
import { countFirst } from '../parts/job.tsx'
import { status } from '../parts/text.tsx'
import type { Data } from '../state/http.ts'

interface Counts {
  matched: number
  complete: boolean
}

const HOUR_MS = 3_600_000
const manyOf = ({ matched, complete }: Counts): string => `${complete ? '' : 'more than '}${counted(matched, 'event')}`

/** Asks for the time span; for a failing endpoint it starts with the first failure. `at` is its address in the API. */
export const replay = (at: string, failingSince: string | null): void =>
  ask({
    title: 'Replay',
    verb: 'Count the events',
    text: 'Sends past events to the endpoint again. First they are counted; nothing is sent yet.',
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
    act: async ({ since, until, failed_only }) =>
      countFirst<Counts, Data<typeof events.replayed>>({
        title: 'Replay',
        at: `${at}/replay`,
        order: { since, failed_only, ...(until === '' ? {} : { until }) },
        many: (found) => (found.matched > 0 ? manyOf(found) : undefined),
        question: (found) => (
          <>
            {status`${<strong>{manyOf(found)}</strong>} would be sent. Nothing has been sent yet.`}
            <p>They have the same ids as before: a program that keeps the ids it knows takes none of them twice.</p>
          </>
        ),
        id: 'replay_id',
        follow: (id) => `${at}/replays/${id}`,
        progress: ({ state, delivered }) =>
          status`${state === 'done' ? 'Done' : 'Under way'}: ${countText(delivered)} ${
            delivered === 1 ? 'event was' : 'events were'
          } sent again.`,
      }),
  })
