// What failed in the last hour, by the provider's code, in plain words; each leads to its messages.

import type { Snapshot } from '../../../telemetry/snapshot.ts'
import { countText } from '../../logic/numbers.ts'
import { SearchLink } from '../../parts/search-link.tsx'
import { Table } from '../../parts/table.tsx'
import { Said } from '../../parts/text.tsx'

type Failure = Snapshot['failures'][number]

const since = (): string => new Date(Math.floor(Date.now() / 60_000) * 60_000 - 3_600_000).toISOString()

/** A row for each code. */
export function Failures({ failures }: { failures: readonly Failure[] }) {
  return (
    <section class="card" aria-labelledby="failures">
      <h2 id="failures">Failures of the last hour</h2>
      {failures.length === 0 ? (
        <p>None.</p>
      ) : (
        <Table
          caption="Failures of the last hour"
          rows={failures}
          keyOf={({ code }) => code}
          columns={[
            {
              title: 'Code',
              head: true,
              cell: ({ code }) => (
                <SearchLink filters={{ code, since: since() }}>
                  <Said text={code} />
                </SearchLink>
              ),
            },
            { title: 'Meaning', cell: ({ meaning }) => <Said text={meaning} /> },
            { title: 'Messages', number: true, cell: ({ count }) => countText(count) },
          ]}
        />
      )}
    </section>
  )
}
