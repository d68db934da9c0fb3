// The keys of the account: what each is for, when it was last used, and until when it works.
import { useState } from 'preact/hooks'
import type { KeyDocument as Key } from '../../accounts/permissions.ts'
import { Badge } from '../parts/badge.tsx'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { More, useRows } from '../parts/pager.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, Said, When } from '../parts/text.tsx'
import { call, type Page } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { NewKey } from './keys/new-key.tsx'
import { RevokeKey } from './keys/revoke-key.tsx'
import { RotateKey } from './keys/rotate-key.tsx'

const TONES = { active: 'good', expired: 'wait', revoked: 'quiet' } as const

/** The list, with what creates and revokes. */
export function Keys() {
  const [asked, setAsked] = useState<{ what: 'new' } | { what: 'revoke' | 'rotate'; key: Key }>()
  const list = (cursor?: string, signal?: AbortSignal): Promise<Page<Key>> =>
    call('GET', '/admin/keys', { query: { cursor }, ...(signal ? { signal } : {}) })
  const loaded = useLoad('keys', (signal) => list(undefined, signal))
  const { rows, more } = useRows(loaded, (cursor) => list(cursor))
  const props = { onDone: loaded.reload, onClose: () => setAsked(undefined) }
  return (
    <Frame
      title="Keys"
      actions={
        <button type="button" class="primary" onClick={() => setAsked({ what: 'new' })}>
          New key
        </button>
      }
    >
      <p>Applications and people authenticate with keys. Give each its own, with no more permissions than it needs.</p>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {() =>
          rows.length === 0 ? (
            <Empty title="No key yet." />
          ) : (
            <Table
              cards
              caption="Keys"
              rows={rows}
              keyOf={({ id }) => id}
              columns={[
                {
                  title: 'Name',
                  head: true,
                  cell: ({ id, name }) => (
                    <>
                      <Said text={name || 'without a name'} />
                      <code class="reason">{id}</code>
                    </>
                  ),
                },
                { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
                {
                  title: 'Permissions',
                  wide: true,
                  cell: ({ permissions, senders, addresses }) => (
                    <>
                      {permissions.join(', ')}
                      {senders !== null && <span class="reason">only for senders {senders.join(', ')}</span>}
                      {addresses !== null && <span class="reason">only from {addresses.join(', ')}</span>}
                    </>
                  ),
                },
                { title: 'Last used', cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
                { title: 'Created', wide: true, cell: ({ created_at }) => <When at={created_at} /> },
                {
                  title: 'Expires',
                  wide: true,
                  cell: ({ expires_at }) => (expires_at === null ? 'never' : <When at={expires_at} />),
                },
                {
                  title: 'Action',
                  cell: (key) =>
                    key.state === 'active' && (
                      <span class="actions">
                        <button
                          type="button"
                          aria-label={`Rotate ${key.name || key.id}`}
                          onClick={() => setAsked({ what: 'rotate', key })}
                        >
                          Rotate
                        </button>
                        <button
                          type="button"
                          aria-label={`Revoke ${key.name || key.id}`}
                          onClick={() => setAsked({ what: 'revoke', key })}
                        >
                          Revoke
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
      {asked?.what === 'new' && <NewKey {...props} />}
      {asked?.what === 'revoke' && <RevokeKey of={asked.key} {...props} />}
      {asked?.what === 'rotate' && <RotateKey of={asked.key} {...props} />}
    </Frame>
  )
}
