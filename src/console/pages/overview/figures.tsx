// The figures of this second. Those that count messages lead to them.
import type { ComponentChildren } from 'preact'
import type { Snapshot } from '../../../telemetry/snapshot.ts'
import { searchAddress } from '../../logic/message-filters.ts'
import { countText, rateText } from '../../logic/numbers.ts'
import { spanText } from '../../logic/spans.ts'

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
        <a href={searchAddress({ state: 'failed' })}>{rateText(totals.failed_per_s)}</a>
      </Figure>
      <Figure name="Waiting">
        <a href={searchAddress({ state: 'queued' })}>{countText(totals.waiting)}</a>
      </Figure>
      <Figure name="Oldest waiting">{totals.waiting === 0 ? 'none' : spanText(totals.oldest_waiting_s)}</Figure>
      <Figure name="Unconfirmed" bad={totals.unconfirmed > 0}>
        <a href={searchAddress({ state: 'unconfirmed' })}>{countText(totals.unconfirmed)}</a>
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
