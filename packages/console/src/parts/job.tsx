// Sending many things again, which the server does as a job: a dialog counts them first, asks, starts the job and follows it.
import type { ComponentChildren } from 'preact'
import { useData, useLoad } from '../state/hooks.ts'
import { dataOf } from '../state/http.ts'
import { Confirm, Dialog, openDialog } from './form.tsx'
import { WhenLoaded } from './page.tsx'

interface Job<Counts, Progress> {
  title: string
  /** The address that starts the job or, with `dry_run`, counts. */
  at: string
  order: object
  /** How many would be sent, with their noun; undefined: none. */
  many: (counts: Counts) => string | undefined
  question: (counts: Counts) => ComponentChildren
  /** The field of the answer that has the id of the job, and the address of a job with this id. */
  id: string
  follow: (id: string) => string
  progress: (progress: Progress) => ComponentChildren
}

/** Opens the dialog. */
export const countFirst = <Counts, Progress extends { state: string }>(job: Job<Counts, Progress>): void =>
  openDialog(<Ask {...job} />)

function Ask<Counts, Progress extends { state: string }>(job: Job<Counts, Progress>) {
  const { title, at, order, many, question, id } = job
  const loaded = useLoad<Counts>('dry run', (signal) =>
    dataOf('POST', at, { body: { ...order, dry_run: true }, signal }),
  )
  const found = loaded.value && many(loaded.value)
  return (
    <Confirm
      title={title}
      verb={found === undefined ? 'Send again' : `Send ${found} again`}
      danger
      text={<WhenLoaded loaded={loaded}>{question}</WhenLoaded>}
      ready={() => found !== undefined}
      act={async (_values, headers) => {
        const started = await dataOf<Record<string, string>>('POST', at, { body: order, headers })
        openDialog(<Follow {...job} started={started[id] ?? ''} />)
      }}
    />
  )
}

const POLL_MS = 700
const OVER = ['done', 'failed']

function Follow<Counts, Progress extends { state: string }>({
  title,
  follow,
  progress,
  started,
}: Job<Counts, Progress> & { started: string }) {
  const loaded = useData<Progress>(follow(started), ({ state }) => (OVER.includes(state) ? undefined : POLL_MS))
  return (
    <Dialog title={title} close="Close">
      <WhenLoaded loaded={loaded}>{progress}</WhenLoaded>
      <p class="quiet">
        It goes on without this page: <code>{started}</code>.
      </p>
    </Dialog>
  )
}
