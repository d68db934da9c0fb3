// Requeues all messages that match a search: counts them first, then starts a job and follows it.
import type { messages } from '../../producer/api/messages/routes.ts'
import { type Filters, requeueBody } from '../logic/message-filters.ts'
import { counted, countText } from '../logic/numbers.ts'
import { Confirm, Dialog, openDialog } from '../parts/form.tsx'
import { WhenLoaded } from '../parts/page.tsx'
import { Gauge, held, Text } from '../parts/text.tsx'
import { useData, useLoad } from '../state/hooks.ts'
import { type Data, dataOf } from '../state/http.ts'

type Job = Extract<Data<typeof messages.job>, { requeued: number }>
type Counts = Pick<Job, 'matched' | keyof typeof REASONS>

const POLL_MS = 700

/** Why some messages cannot be sent again. */
const REASONS = {
  without_content: 'have no content any more',
  skipped_capped: 'go to people who have had enough marketing for now',
  campaign_over: 'belong to a campaign that is over',
  failed: 'have a record that cannot be read',
} as const
const NAMES = Object.keys(REASONS) as (keyof typeof REASONS)[]

const sendable = (counts: Counts): number => NAMES.reduce((left, name) => left - counts[name], counts.matched)
const blocked = (counts: Counts) =>
  NAMES.map((name) => counts[name] > 0 && held`${countText(counts[name])} ${REASONS[name]}.`)

/** Opens the dialog that counts, asks, starts the job and follows it. */
export function requeueAll(filters: Filters): void {
  const asked = requeueBody(filters)
  openDialog(
    'why' in asked ? (
      <Dialog title="Requeue all that match" close="Close">
        <p>{asked.why}</p>
      </Dialog>
    ) : (
      <Ask body={asked.body} />
    ),
  )
}

function Ask({ body }: { body: Filters }) {
  const loaded = useLoad<Counts>('requeue dry run', (signal) =>
    dataOf('POST', '/messages/requeue', { body: { ...body, dry_run: true }, signal }),
  )
  const count = loaded.value === undefined ? 0 : sendable(loaded.value)
  return (
    <Confirm
      title="Requeue all that match"
      verb={count > 0 ? `Send ${counted(count, 'message')} again` : 'Send again'}
      danger
      text={
        <>
          <ul>
            {Object.entries(body).map(([name, value]) => (
              <li key={name}>
                {name}: <Text text={value} />
              </li>
            ))}
          </ul>
          <WhenLoaded loaded={loaded}>
            {(found) => (
              <>
                <p role="status">
                  <strong>{counted(found.matched, 'message matches', 'messages match')}</strong>;{' '}
                  {countText(sendable(found))} can be sent again. Nothing has been changed yet.
                </p>
                {blocked(found)}
                <p>Messages that may have reached somebody are marked as possible duplicates.</p>
              </>
            )}
          </WhenLoaded>
        </>
      }
      ready={() => count > 0}
      act={async (_values, headers) => {
        const { job_id } = await dataOf<{ job_id: string }>('POST', '/messages/requeue', { body, headers })
        openDialog(<Progress id={job_id} />)
      }}
    />
  )
}

const OUTCOMES: Readonly<Record<string, string>> = { done: 'Done', failed: 'Given up' }

function Progress({ id }: { id: string }) {
  const loaded = useData<Job>(`/jobs/${id}`, ({ state }) => (state in OUTCOMES ? undefined : POLL_MS))
  return (
    <Dialog title="Requeue" close="Close">
      <WhenLoaded loaded={loaded}>
        {(job) => (
          <>
            <p role="status">
              {OUTCOMES[job.state] ?? 'Under way'}: {countText(job.requeued)} of{' '}
              {counted(job.matched, 'matching message')} are queued again.
            </p>
            <Gauge label="Messages queued again" value={job.requeued} most={job.matched} />
            {blocked(job)}
          </>
        )}
      </WhenLoaded>
      <p class="quiet">
        It goes on without this page: job <code>{id}</code>.
      </p>
    </Dialog>
  )
}
