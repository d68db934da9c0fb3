// The senders: business numbers with their providers and paces. Each has a lane of its own.

import { useState } from 'preact/hooks'
import type { SenderDocument as Sender } from '../../accounts/sender.ts'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { Table } from '../parts/table.tsx'
import { Said } from '../parts/text.tsx'
import { call, type Page } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { ChangeSender } from './senders/change-sender.tsx'
import { NewSender } from './senders/new-sender.tsx'
import { RemoveSender } from './senders/remove-sender.tsx'
import { WebhookSecrets } from './senders/webhook-secrets.tsx'

/** The list, with what adds, changes and removes. */
export function Senders() {
  const [asked, setAsked] = useState<{ what: 'new' } | { what: 'change' | 'remove'; sender: Sender }>()
  const list = (cursor?: string, signal?: AbortSignal): Promise<Page<Sender>> =>
    call('GET', '/admin/senders', { query: { cursor }, ...(signal ? { signal } : {}) })
  const loaded = useLoad('senders', (signal) => list(undefined, signal))
  const { rows, more } = useRows(loaded, (cursor) => list(cursor))
  const props = { onDone: loaded.reload, onClose: () => setAsked(undefined) }
  return (
    <Frame
      title="Senders"
      actions={
        <button type="button" class="primary" onClick={() => setAsked({ what: 'new' })}>
          Add a sender
        </button>
      }
    >
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No sender yet.">
              <p>A sender is a business number with the token of its provider. Without one nothing can be sent.</p>
            </Empty>
          ) : (
            <Table
              cards
              caption="Senders"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Sender',
                  head: true,
                  cell: ({ id, name, number }) => (
                    <a href={`/console/lanes/${id}`}>
                      {id} <Said text={name || number} />
                    </a>
                  ),
                },
                {
                  title: 'Number',
                  cell: ({ number, default: isDefault }) => (
                    <>
                      <Said text={number} />
                      {isDefault && <span class="reason">the default</span>}
                    </>
                  ),
                },
                { title: 'Provider', wide: true, cell: ({ provider }) => <Said text={provider} /> },
                { title: 'Address', wide: true, cell: ({ base_url }) => <Said text={base_url} /> },
                { title: 'Per second', number: true, cell: ({ rate }) => rate },
                {
                  title: 'Action',
                  cell: (sender) => (
                    <span class="actions">
                      <button
                        type="button"
                        aria-label={`Change sender ${sender.id}`}
                        onClick={() => setAsked({ what: 'change', sender })}
                      >
                        Change
                      </button>
                      <button
                        type="button"
                        aria-label={`Remove sender ${sender.id}`}
                        onClick={() => setAsked({ what: 'remove', sender })}
                      >
                        Remove
                      </button>
                    </span>
                  ),
                },
              ]}
            />
          )
        }
      </Shown>
      <More more={more} />
      <WebhookSecrets />
      {asked?.what === 'new' && <NewSender {...props} />}
      {asked?.what === 'change' && <ChangeSender sender={asked.sender} {...props} />}
      {asked?.what === 'remove' && <RemoveSender sender={asked.sender} {...props} />}
    </Frame>
  )
}
