// Requeues all messages that match a search.
import type { messages } from '../../../../src/producer/api/messages/routes.ts'
import { type Filters, requeueBody } from '../logic/message-filters.ts'
import { counted, countText } from '../logic/numbers.ts'
import { Dialog, openDialog } from '../parts/form.tsx'
import { countFirst } from '../parts/job.tsx'
import { Gauge, held, sentence, status, words } from '../parts/text.tsx'
import type { Data } from '../state/http.ts'

type Job = Extract<Data<typeof messages.job>, { requeued: number }>
type Counts = Pick<Job, 'matched' | keyof typeof REASONS>

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

const TITLE = 'Requeue all that match'
const OUTCOMES: Readonly<Record<string, string>> = { done: 'Done', failed: 'Given up' }

/** Opens the dialog that counts, asks, starts the job and follows it; or shows why it cannot. */
export function requeueAll(filters: Filters): void {
  const asked = requeueBody(filters)
  if ('why' in asked) {
    openDialog(
      <Dialog title={TITLE} close="Close">
        {sentence`${asked.why}`}
      </Dialog>,
    )
    return
  }
  countFirst<Counts, Job>({
    title: TITLE,
    at: '/messages/requeue',
    order: asked.body,
    many: (found) => (sendable(found) > 0 ? counted(sendable(found), 'message') : undefined),
    question: (found) => (
      <>
        <ul>
          {Object.entries(asked.body).map(([name, value]) => (
            <li key={name}>{words`${name}: ${value}`}</li>
          ))}
        </ul>
        {status`${<strong>{counted(found.matched, 'message matches', 'messages match')}</strong>}; ${countText(sendable(found))}
          can be sent again. Nothing has been changed yet.`}
        {blocked(found)}
        <p>Messages that may have reached somebody are marked as possible duplicates.</p>
      </>
    ),
    id: 'job_id',
    follow: (id) => `/jobs/${id}`,
    progress: (job) => (
      <>
        {status`${OUTCOMES[job.state] ?? 'Under way'}: ${countText(job.requeued)} of ${counted(job.matched, 'matching message')}
          are queued again.`}
        <Gauge label="Messages queued again" value={job.requeued} most={job.matched} />
        {blocked(job)}
      </>
    ),
  })
}
