// The keys of the account: permissions, last use and expiry of each; create, rotate and revoke.
import type { KeyDocument as Key } from '../../../../src/model/accounts/permissions.ts'
import { countText } from '../logic/numbers.ts'
import { nonEmpty, partsOf } from '../parts/fields.tsx'
import { ask, showOnce, thenNotify } from '../parts/form.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Empty, Page } from '../parts/page.tsx'
import { Ago, Badge, sentence, When, words } from '../parts/text.tsx'
import { actingFor, call, dataOf, isOperator } from '../state/http.ts'

const TONES = { active: 'good', expired: 'wait', revoked: 'quiet' } as const
const nameOf = ({ name, id }: Key): string => name || id

/** The list, with buttons to create, rotate and revoke. */
export const Keys = () => (
  <Page title="Keys" main={['New key', newKey]}>
    <p>Applications and people authenticate with keys. Give each its own, with no more permissions than it needs.</p>
    <List
      cards
      caption="Keys"
      from={listAt<Key>('/admin/keys')}
      keyOf={({ id }) => id}
      empty={<Empty title="No key yet." />}
      columns={[
        {
          title: 'Name',
          head: true,
          text: ({ name }) => name || 'without a name',
          note: ({ id }) => <code>{id}</code>,
        },
        { title: 'State', cell: ({ state }) => <Badge tone={TONES[state]}>{state}</Badge> },
        {
          title: 'Permissions',
          wide: true,
          text: ({ permissions }) => permissions.join(', '),
          note: ({ senders, addresses }) =>
            [senders && `only for senders ${senders.join(', ')}`, addresses && `only from ${addresses.join(', ')}`]
              .filter(Boolean)
              .join('; '),
        },
        {
          title: 'Last used',
          cell: ({ last_used_at }) => <Ago at={last_used_at} />,
          note: ({ last_used_from: from }) => from && `from ${from}`,
        },
        {
          title: 'Uses in 30 days',
          number: true,
          wide: true,
          text: ({ uses }) => countText(uses.reduce((sum, { count }) => sum + count, 0)),
          note: ({ uses: [latest] }) => latest && `${countText(latest.count)} on ${latest.day}`,
        },
        { title: 'Created', wide: true, at: ({ created_at }) => created_at },
        {
          title: 'Expires',
          wide: true,
          cell: ({ expires_at }) => (expires_at === null ? 'never' : <When at={expires_at} />),
        },
      ]}
      actions={(key) =>
        key.state !== 'active'
          ? []
          : [
              ['Rotate', nameOf(key), () => rotate(key)],
              ['Revoke', nameOf(key), () => revoke(key)],
            ]
      }
    />
  </Page>
)

const PERMISSIONS = [
  ['messages:send', 'send messages and run campaigns'],
  ['messages:read', 'look up messages and campaigns'],
  ['contacts:read', 'read contact lists'],
  ['contacts:write', 'change contact lists'],
  ['gallery', 'files of the gallery'],
  ['gallery:system', 'rename system folders'],
  ['events', 'receive events, and manage who receives them'],
  ['admin', 'everything in this account: lanes, senders, keys, templates, and all of the above'],
] as const
/** For an operator without a chosen account: another operator key. */
const OF_NO_ACCOUNT = [['operator', 'everything, in all accounts']] as const

function newKey(): void {
  const offered = isOperator.value && actingFor.value === undefined ? OF_NO_ACCOUNT : PERMISSIONS
  const fold = 'Only for some senders, or from some networks'
  ask({
    title: 'New key',
    verb: 'Create the key',
    fields: {
      name: { label: 'Name', required: true, help: 'What it is for, such as: order service.' },
      permissions: {
        kind: 'checks',
        label: 'It may',
        options: offered.map(([permission, means]) => [
          permission,
          words`${means} ${<code class="quiet">{permission}</code>}`,
        ]),
      },
      expires: { kind: 'time', label: 'Expires', help: 'Optional: otherwise it works until it is revoked.' },
      senders: {
        fold,
        label: 'Senders',
        placeholder: '+44 7700 900001, shop',
        help: 'By number, name or id. Empty: all.',
      },
      addresses: {
        fold,
        label: 'Networks',
        placeholder: '10.0.0.0/8, 192.0.2.7',
        help: 'Where it may be used from. Empty: anywhere.',
      },
    },
    ready: ({ permissions }) => permissions.length > 0,
    act: async ({ name, permissions, expires, senders, addresses }, headers) => {
      const body = {
        name: name.trim(),
        permissions,
        ...(senders.trim() === '' ? {} : { senders: partsOf(senders) }),
        ...(addresses.trim() === '' ? {} : { addresses: partsOf(addresses) }),
        ...nonEmpty({ expires_at: expires }),
      }
      const { key } = await dataOf<{ key: string | null }>('POST', '/admin/keys', { body, headers })
      showOnce('key', key)
    },
  })
}

const OVERLAPS = [
  ['3600', 'one hour'],
  ['86400', 'one day'],
  ['604800', 'one week'],
  ['0', 'no time at all'],
] as const

const rotate = (key: Key): void =>
  ask({
    title: `Rotate ${nameOf(key)}`,
    verb: 'Make the new key',
    danger: true,
    text: sentence`A new key may do what ${nameOf(key)} may. Give it to everybody who uses the old one in time.`,
    fields: { overlap: { label: 'The old one works for', options: OVERLAPS, value: '86400' } },
    act: async ({ overlap }, headers) => {
      const body = { overlap_seconds: Number(overlap) }
      const made = await dataOf<{ key: string | null }>('POST', `/admin/keys/${key.id}/rotate`, { body, headers })
      showOnce('key', made.key)
    },
  })

const revoke = (key: Key): void =>
  ask({
    title: `Revoke ${nameOf(key)}`,
    verb: 'Revoke the key',
    danger: true,
    text: sentence`Requests with ${nameOf(key)} are refused from now on, and console sessions with it end. It was last used
      ${<Ago at={key.last_used_at} />}. There is no way back.`,
    act: () => thenNotify(call('DELETE', `/admin/keys/${key.id}`), `${nameOf(key)} is revoked.`),
  })
