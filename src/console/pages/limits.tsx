// What the account may use up, and how much of it is used: the limits as they are in force.
import type { LimitInForce } from '../../producer/limits-in-force.ts'
import { bytesText, countText, shareText } from '../logic/numbers.ts'
import { Badge } from '../parts/badge.tsx'
import { Age, Page, Shown } from '../parts/page.tsx'
import { Gauge } from '../parts/spark.tsx'
import { Table } from '../parts/table.tsx'
import { dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { may } from '../state/session.ts'
import { ChangeLimit } from './limits/change-limit.tsx'
import { limitWords } from './limits/words.ts'

const EVERY_MS = 5_000
/** From this share on somebody should look. */
const NEARLY = 0.9

const amountText = (limit: LimitInForce['limit'], amount: number): string =>
  limitWords(limit).unit === 'bytes' ? bytesText(amount) : countText(amount)

/** The table; an operator changes them. */
export function Limits() {
  const loaded = useLoad<LimitInForce[]>('limits', (signal) => dataOf('GET', '/admin/limits', { signal }), EVERY_MS)
  return (
    <Page title="Limits">
      <p>Whatever would pass one of these is refused with a reason. What is accepted already is never dropped.</p>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {(limits) => (
          <Table
            cards
            caption="Limits"
            rows={limits}
            keyOf={({ limit }) => limit}
            columns={[
              {
                title: 'What',
                head: true,
                cell: ({ limit }) => (
                  <>
                    {limitWords(limit).name}
                    <code class="reason">{limit}</code>
                  </>
                ),
              },
              { title: 'Used', cell: (each) => <Used {...each} /> },
              {
                title: 'At most',
                number: true,
                cell: ({ limit, most }) =>
                  most === null
                    ? 'no limit'
                    : amountText(limit, most) + (limitWords(limit).unit === 'per second' ? '/s' : ''),
              },
              { title: 'Set for', wide: true, cell: ({ own }) => (own ? 'this account' : 'the installation') },
              ...(may('operate')
                ? [
                    {
                      title: 'Action',
                      cell: (each: LimitInForce) => <ChangeLimit of={each} onDone={loaded.reload} />,
                    },
                  ]
                : []),
            ]}
          />
        )}
      </Shown>
    </Page>
  )
}

function Used({ limit, used, most }: LimitInForce) {
  if (used === null) return <span class="quiet">counted each second</span>
  const isNearly = most !== null && used >= NEARLY * most
  return (
    <span class="used">
      <span class="number">{amountText(limit, used)}</span>
      {most !== null && (
        <>
          <Gauge label={`Used of ${limitWords(limit).name}`} value={used} most={most} />
          <span class="quiet">{shareText(used, most)}</span>
        </>
      )}
      {isNearly && <Badge tone="bad">{used >= most ? 'full' : 'nearly full'}</Badge>}
    </span>
  )
}
