// The figures of this second. Those that count messages lead to them.
import type { ComponentChildren } from 'preact'
import type { Snapshot } from '../../../telemetry/snapshot.ts'
import { countText, rateText } from '../../logic/numbers.ts'
import { spanText } from '../../logic/spans.ts'
import { SearchLink } from '../../parts/search-link.tsx'

/** Rates and backlog, all lanes together. */
export function Figures({ totals }: { totals: Snapshot['totals'] }) {
  return (
    <dl class="figures">
      <Figure name="Accepted" unit="/s">
        {rateText(totals.accepted_per_s)}
      </Figure>
      <Figure name="Sent" unit="/s">
        {rateText(totals.sent_per_s)}
      </Figure>
      <Figure name="Delivered" unit="/s">
        {rateText(totals.delivered_per_s)}
      </Figure>
      <Figure name="Failed" unit="/s" bad={totals.failed_per_s > 0}>
        <SearchLink filters={{ state: 'failed' }}>{rateText(totals.failed_per_s)}</SearchLink>
      </Figure>
      <Figure name="Waiting">
        <SearchLink filters={{ state: 'queued' }}>{countText(totals.waiting)}</SearchLink>
      </Figure>
      <Figure name="Oldest waiting">{totals.waiting === 0 ? 'none' : spanText(totals.oldest_waiting_s)}</Figure>
      <Figure name="Unconfirmed" bad={totals.unconfirmed > 0}>
        <SearchLink filters={{ state: 'unconfirmed' }}>{countText(totals.unconfirmed)}</SearchLink>
      </Figure>
    </dl>
  )
}

function Figure({
  name,
  unit,
  bad = false,
  children,
}: {
  name: string
  unit?: string
  bad?: boolean
  children: ComponentChildren
}) {
  return (
    <div class={bad ? 'bad' : ''}>
      <dt>
        {bad && <span aria-hidden="true">! </span>}
        {name}
      </dt>
      <dd>
        {children}
        {unit && <span class="unit">{unit}</span>}
      </dd>
    </div>
  )
}
