// What a first-time reader sees above the figures: an invitation to send the first message, and in the demo the switch of
// the made-up traffic.
import type { ListedMessage } from '../../../messages/lookup/message-schema.ts'
import type { Series } from '../../../telemetry/series.ts'
import type { Snapshot } from '../../../telemetry/snapshot.ts'
import { isAtWork } from '../../logic/at-work.ts'
import { call, dataOf, type Page } from '../../state/http.ts'
import { useLoad } from '../../state/load.ts'
import { may, session } from '../../state/session.ts'
import { DemoSwitch } from '../start/demo-switch.tsx'

const EVERY_MS = 5_000

/** Whether the account has never sent anything; for an operator of all, whether nobody has for a week. */
async function isNew(signal: AbortSignal): Promise<boolean> {
  if (may('see')) {
    const query = { limit: 1, direction: 'outbound' }
    const { data, next } = await call<Page<ListedMessage>>('GET', '/messages', { query, signal })
    return data.length === 0 && next === null
  }
  const { points } = await dataOf<Series>('GET', '/console/history', { query: { span: 'week' }, signal })
  return points.every(({ accepted }) => accepted === 0)
}

/** The invitation, as long as nothing has ever been sent. */
export function Welcome({ figures }: { figures: Snapshot }) {
  const mayInvite = may('see') ? may('send') : session.value?.operator === true
  const loaded = useLoad(mayInvite ? 'first message' : undefined, isNew, EVERY_MS)
  return (
    <>
      {loaded.value === true && !isAtWork(figures) && (
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
