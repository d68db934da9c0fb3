// The limits of the account and how much of each is used.
import type { LimitInForce } from '../../../../src/producer/api/accounts/routes.ts'
import { bytesText, countText, shareText } from '../logic/numbers.ts'
import { limitWords } from '../logic/words.ts'
import { ask } from '../parts/form.tsx'
import { List, listAt } from '../parts/list.tsx'
import { Page } from '../parts/page.tsx'
import { Badge, Gauge } from '../parts/text.tsx'
import { actingFor, call } from '../state/http.ts'
import { may } from '../state/session.ts'

const EVERY_MS = 5_000
/** From this share of a limit on it is marked. */
const NEARLY = 0.9

const amountText = (limit: LimitInForce['limit'], amount: number): string =>
  limitWords(limit).unit === 'bytes' ? bytesText(amount) : countText(amount)

/** The table; an operator can change the limits. */
export const Limits = () => (
  <Page title="Limits">
    <p>What would exceed one of these is refused with a reason. What is accepted already is never dropped.</p>
    <List
      cards
      caption="Limits"
      from={listAt<LimitInForce>('/admin/limits')}
      every={EVERY_MS}
      empty={null}
      keyOf={({ limit }) => limit}
      columns={[
        {
          title: 'What',
          head: true,
          text: ({ limit }) => limitWords(limit).name,
          note: ({ limit }) => <code>{limit}</code>,
        },
        { title: 'Used', cell: Used },
        {
          title: 'At most',
          number: true,
          cell: ({ limit, most }) =>
            most === null
              ? 'no limit'
              : amountText(limit, most) + (limitWords(limit).unit === 'per second' ? '/s' : ''),
        },
        { title: 'Set for', wide: true, cell: ({ own }) => (own ? 'this account' : 'the installation') },
      ]}
      actions={may('operate') && (({ limit }) => [['Change', limitWords(limit).name, () => changeLimit(limit)]])}
    />
  </Page>
)

function Used({ limit, used, most }: LimitInForce) {
  if (used === null) return <span class="quiet">counted each second</span>
  return (
    <span class="used">
      <span class="number">{amountText(limit, used)}</span>
      {most !== null && (
        <>
          <Gauge label={`Used of ${limitWords(limit).name}`} value={used} most={most} />
          <span class="quiet">{shareText(used, most)}</span>
          {used >= NEARLY * most && <Badge tone="bad">{used >= most ? 'full' : 'nearly full'}</Badge>}
        </>
      )}
    </span>
  )
}

function changeLimit(limit: LimitInForce['limit']): void {
  const { name, unit } = limitWords(limit)
  ask({
    title: name,
    verb: 'Change the limit',
    fields: {
      most: {
        kind: 'number',
        label: unit === 'bytes' ? 'Bytes' : unit === 'per second' ? 'Requests a second' : 'At most',
        min: '0',
        step: '1',
        help: '0 is no limit; empty is the limit of the installation.',
      },
    },
    act: async ({ most }) => {
      const body = { [limit]: most.trim() === '' ? null : Number(most) }
      await call('PATCH', `/admin/accounts/${actingFor.value}`, { body })
      return `${name}: changed. It is in force within two seconds.`
    },
  })
}
