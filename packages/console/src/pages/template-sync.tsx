// The template sync with WhatsApp's own list: its progress, and a button that starts it.
import type { templates } from '../../../../src/producer/api/templates/routes.ts'
import { counted, countText } from '../logic/numbers.ts'
import { WhenLoaded } from '../parts/page.tsx'
import { Button, notify } from '../parts/press.tsx'
import { Ago, Badge, Text } from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'
import { call, type Data } from '../state/http.ts'
import { may } from '../state/session.ts'

type Sync = Data<typeof templates.syncs>[number]

/** During a sync the figures change; otherwise one happens within the hour. */
const everyOf = (syncs: readonly Sync[]): number =>
  syncs.some(({ state, asked_at, began_at }) => state === 'running' || (asked_at ?? '') > (began_at ?? ''))
    ? 2_000
    : 30_000

/** A line for each account at WhatsApp; nothing where no sender belongs to one. */
export function TemplateSyncs() {
  const loaded = useData<Sync[]>('/admin/template-syncs', everyOf)
  const syncNow = async (): Promise<void> => {
    await call('POST', '/admin/templates/sync', { body: {} })
    notify('WhatsApp’s list is being read.')
    loaded.reload()
  }
  return (
    <WhenLoaded loaded={loaded}>
      {(all) =>
        all.length > 0 && (
          <div class="stack">
            {all.map((sync) => (
              <Line key={sync.waba_id} sync={sync} />
            ))}
            {may('administer') && (
              <p>
                <Button busy="Starting …" press={syncNow}>
                  Sync with WhatsApp
                </Button>
              </p>
            )}
          </div>
        )
      }
    </WhenLoaded>
  )
}

const TONES = { done: 'good', running: 'busy', waiting: 'wait', failed: 'bad' } as const

function Line({ sync }: { sync: Sync }) {
  const { waba_id, state, problem, ended_at, listed, added, changed, removed, not_sendable, unreadable } = sync
  const figures = [
    counted(listed, 'template'),
    ...(added > 0 ? [`${countText(added)} new`] : []),
    ...(changed > 0 ? [`${countText(changed)} changed`] : []),
    ...(removed > 0 ? [`${countText(removed)} removed`] : []),
    ...(not_sendable > 0 ? [`${countText(not_sendable)} cannot be filled in`] : []),
    ...(unreadable > 0 ? [`${countText(unreadable)} cannot be read`] : []),
  ]
  return (
    <div>
      <p>
        Account {waba_id} at WhatsApp <Badge tone={TONES[state]}>{state}</Badge>{' '}
        <span class="quiet">
          {ended_at !== null && (
            <>
              <Ago at={ended_at} />:{' '}
            </>
          )}
          {figures.join(', ')}
        </span>
      </p>
      {problem && (
        <p class="held">
          <Text text={problem.sentence} />
        </p>
      )}
    </div>
  )
}
