// The ledger: what became of every recipient, and that it adds up.
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import { ledgerOf, type Progress, termsOf } from '../../logic/ledger.ts'
import { searchAddress } from '../../logic/message-filters.ts'
import { countText, shareText } from '../../logic/numbers.ts'
import { Badge, MessageState, toneOf } from '../../parts/badge.tsx'

/** A bar, a line for each state, and the sum. Each number leads to the messages that it counts. */
export function LedgerCard({ campaign, progress }: { campaign: CampaignDescription; progress: Progress }) {
  const ledger = ledgerOf(progress)
  const terms = termsOf(ledger)
  return (
    <section class="card" aria-labelledby="ledger">
      <h2 id="ledger">Ledger</h2>
      <svg class="ledger-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
        {terms.map(({ state, count }, i) => {
          const before = terms.slice(0, i).reduce((sum, each) => sum + each.count, 0)
          const scale = 1_000 / Math.max(1, ledger.sum)
          return <rect key={state} class={toneOf(state)} x={before * scale} width={count * scale} height="14" />
        })}
      </svg>
      <dl class="ledger">
        {ledger.lines.map(({ state, count }) => (
          <div key={state} class={count === 0 ? 'none' : ''}>
            <dt>
              <MessageState state={state} />
            </dt>
            <dd>
              {count === 0 ? '0' : <a href={searchAddress({ campaign: campaign.id, state })}>{countText(count)}</a>}
              <span class="quiet"> {shareText(count, ledger.total)}</span>
            </dd>
          </div>
        ))}
      </dl>
      <p class="equation">
        <Badge tone={ledger.addsUp ? 'good' : 'bad'}>{ledger.addsUp ? 'adds up' : 'does not add up'}</Badge>{' '}
        <span>
          {countText(ledger.total)} {ledger.addsUp ? '=' : '≠'}{' '}
          {terms.map(({ state, count }) => `${countText(count)} ${state}`).join(' + ')}
        </span>
      </p>
    </section>
  )
}
