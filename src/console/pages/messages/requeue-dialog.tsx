// Sending everything again that matches: first how many that would be, then the job and how far it is.
import { useState } from 'preact/hooks'
import { type Filters, requeueBody } from '../../logic/message-filters.ts'
import { counted, countText } from '../../logic/numbers.ts'
import { Confirm, Dialog } from '../../parts/dialog.tsx'
import { Shown } from '../../parts/page.tsx'
import { Gauge } from '../../parts/spark.tsx'
import { Said } from '../../parts/text.tsx'
import { dataOf, idempotencyKey } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'

interface Counts {
  matched: number
  without_content: number
  campaign_over: number
  failed: number
}
interface Job extends Counts {
  state: 'waiting' | 'running' | 'done' | 'failed'
  requeued: number
}

const POLL_MS = 700

/** Those that cannot be sent again, each reason in words. */
const blockedOf = (counts: Counts): string[] => [
  ...(counts.without_content > 0 ? [`${countText(counts.without_content)} have no content any more`] : []),
  ...(counts.campaign_over > 0 ? [`${countText(counts.campaign_over)} belong to a campaign that is over`] : []),
  ...(counts.failed > 0 ? [`${countText(counts.failed)} have a record that cannot be read`] : []),
]
const sendable = (counts: Counts): number =>
  counts.matched - counts.without_content - counts.campaign_over - counts.failed

/** Asks, shows what it would touch, starts it and follows it. */
export function RequeueDialog({ filters, onClose }: { filters: Filters; onClose: () => void }) {
  const [job, setJob] = useState<string>()
  const asked = requeueBody(filters)
  if ('why' in asked) {
    return (
      <Dialog title="Requeue all that match" onClose={onClose}>
        <p>{asked.why}</p>
        <div class="actions">
          <button type="button" onClick={onClose}>
            Close
          </button>
        </div>
      </Dialog>
    )
  }
  if (job !== undefined) return <Progress id={job} onClose={onClose} />
  return <Ask body={asked.body} onStarted={setJob} onClose={onClose} />
}

function Ask({
  body,
  onStarted,
  onClose,
}: {
  body: Record<string, string>
  onStarted: (job: string) => void
  onClose: () => void
}) {
  const [key] = useState(idempotencyKey)
  const loaded = useLoad<Counts>('requeue dry run', (signal) =>
    dataOf('POST', '/messages/requeue', { body: { ...body, dry_run: true }, signal }),
  )
  const counts = loaded.value
  const count = counts === undefined ? 0 : sendable(counts)
  const act = async (): Promise<void> => {
    const headers = { 'Idempotency-Key': key }
    const { job_id } = await dataOf<{ job_id: string }>('POST', '/messages/requeue', { body, headers })
    onStarted(job_id)
  }
  return (
    <Confirm
      title="Requeue all that match"
      verb={count > 0 ? `Send ${counted(count, 'message')} again` : 'Send again'}
      danger
      ready={count > 0}
      act={act}
      onClose={onClose}
    >
      <ul>
        {Object.entries(body).map(([name, value]) => (
          <li key={name}>
            {name}: <Said text={value} />
          </li>
        ))}
      </ul>
      <Shown loaded={loaded}>
        {(found) => (
          <>
            <p role="status">
              <strong>{counted(found.matched, 'message matches', 'messages match')}</strong>;{' '}
              {countText(sendable(found))} can be sent again. Nothing has been changed yet.
            </p>
            {blockedOf(found).map((reason) => (
              <p key={reason} class="held">
                {reason}.
              </p>
            ))}
            <p>Messages that may have reached somebody are marked as possible duplicates.</p>
          </>
        )}
      </Shown>
    </Confirm>
  )
}

function Progress({ id, onClose }: { id: string; onClose: () => void }) {
  const [over, setOver] = useState(false)
  const loaded = useLoad<Job>(
    `job ${id}`,
    async (signal) => {
      const job = await dataOf<Job>('GET', `/jobs/${id}`, { signal })
      setOver(job.state === 'done' || job.state === 'failed')
      return job
    },
    over ? undefined : POLL_MS,
  )
  return (
    <Dialog title="Requeue" onClose={onClose}>
      <Shown loaded={loaded}>
        {(job) => (
          <>
            <p role="status">
              {job.state === 'done' ? 'Done: ' : job.state === 'failed' ? 'Given up: ' : 'Under way: '}
              {countText(job.requeued)} of {counted(job.matched, 'matching message')} are queued again.
            </p>
            <Gauge label="Messages queued again" value={job.requeued} most={job.matched} />
            {blockedOf(job).map((reason) => (
              <p key={reason} class="held">
                {reason}.
              </p>
            ))}
          </>
        )}
      </Shown>
      <p class="quiet">
        It goes on without this page: job <code>{id}</code>.
      </p>
      <div class="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  )
}
