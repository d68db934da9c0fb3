// The check of a sender with WhatsApp: the state of each thing, and what to do about it.
import type { SenderCheck } from '../../../../src/model/accounts/sender-check.ts'
import { Dialog, openDialog } from '../parts/form.tsx'
import { Table } from '../parts/list.tsx'
import { WhenLoaded } from '../parts/page.tsx'
import { Badge } from '../parts/text.tsx'
import { useData } from '../state/hooks.ts'

/** Opens it for a sender; `name` is what people call it. */
export const showCheck = (id: number, name: string): void => openDialog(<Check id={id} name={name} />)

const TONES = {
  good: 'good',
  warning: 'wait',
  missing: 'bad',
  unknown: 'quiet',
} as const
const WORDS = { good: 'ok', warning: 'check it', missing: 'missing', unknown: 'not known' } as const

function Check({ id, name }: { id: number; name: string }) {
  const loaded = useData<SenderCheck>(`/admin/senders/${id}/check`)
  return (
    <Dialog title={`Check of ${name}`} close="Close">
      {loaded.value === undefined && loaded.busy && <p role="status">Checking with WhatsApp …</p>}
      <WhenLoaded loaded={loaded} age>
        {({ ok, findings }) => (
          <>
            <p>{ok ? 'Nothing is missing.' : 'Something is missing before messages can be sent and followed.'}</p>
            <Table
              cards
              caption={`Check of ${name}`}
              rows={findings}
              keyOf={({ what }) => what}
              columns={[
                { title: 'What', head: true, text: ({ what }) => what.replaceAll('_', ' ') },
                { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{WORDS[state]}</Badge> },
                { title: 'Found', long: true, text: ({ sentence }) => sentence },
                {
                  title: 'What to do',
                  long: true,
                  text: ({ do: todo, state }) => (state === 'good' ? '' : (todo ?? '')),
                },
              ]}
            />
          </>
        )}
      </WhenLoaded>
    </Dialog>
  )
}
