// One campaign: its facts, its preflight and its ledger.
import type { ComponentChildren } from 'preact'
import type { CampaignDescription } from '../../../../src/campaigns/commands/campaign-document.ts'
import { onlyWaitsForEvidence } from '../../../../src/model/campaigns/progress.ts'
import type { State } from '../../../../src/model/messages/lifecycle.ts'
import type { SnapshotCampaign } from '../../../../src/telemetry/snapshot.ts'
import { ROUTES } from '../logic/draft.ts'
import { besideFunnel, funnelOf, ledgerOf, type Progress, uncertainText } from '../logic/ledger.ts'
import { searchAddress } from '../logic/message-filters.ts'
import { countText, rateText, shareText, spanText } from '../logic/numbers.ts'
import { reasonText } from '../logic/words.ts'
import { Card, Facts, Figures, Page, WhenLoaded } from '../parts/page.tsx'
import {
  Badge,
  CampaignState,
  held,
  MessageState,
  status,
  Text,
  toneOf,
  Until,
  WaitReason,
  When,
  words,
} from '../parts/text.tsx'
import { useData, useLoad } from '../state/hooks.ts'
import { downloadAddress } from '../state/http.ts'
import { loadTags, type Tag } from '../state/library.ts'
import { snapshot } from '../state/live.ts'
import { may } from '../state/session.ts'
import { CampaignActions } from './campaign-actions.tsx'
import { Preflight } from './preflight.tsx'

/** WhatsApp's code of a person who has had enough marketing. */
const HAD_ENOUGH = '131049'
const FAST_MS = 1_000
const SLOW_MS = 10_000
const MOVING = ['checking', 'running', 'scheduled']

/** The page; it polls every second while the campaign changes. */
export function CampaignPage({ id }: { id: string }) {
  const loaded = useData<CampaignDescription>(`/campaigns/${encodeURIComponent(id)}`, ({ state }) =>
    MOVING.includes(state) ? FAST_MS : SLOW_MS,
  )
  const campaign = loaded.value
  const live = snapshot.value?.campaigns.find((each) => each.id === id)
  return (
    <Page
      title={campaign?.name || id}
      above={<a href="/console/campaigns">Campaigns</a>}
      badge={campaign && <CampaignState state={campaign.state} />}
      actions={campaign && <CampaignActions campaign={campaign} />}
    >
      <WhenLoaded loaded={loaded} age>
        {(found) => (
          <>
            {found.reason !== null && held`Held because: ${reasonText(found.reason)}`}
            <WaitReason id={id} waits={found.waits} />
            {found.progress.held_to !== null &&
              held`Throttled by the provider: held to ${rateText(found.progress.held_to)} per second.`}
            {found.state === 'running' && status`${paceText(found.progress)}`}
            {found.started_at !== null && <LedgerCard id={id} progress={latestProgress(found, live)} />}
            <div class="halves">
              <Preflight campaign={found} />
              <CampaignFacts campaign={found} />
            </div>
          </>
        )}
      </WhenLoaded>
    </Page>
  )
}

function paceText(progress: CampaignDescription['progress']): string {
  if (onlyWaitsForEvidence(progress)) return `Nothing is left to send; ${uncertainText(progress)}.`
  const { rate_per_second: rate, seconds_left: left } = progress
  return `${rateText(rate)} per second${left === null ? '.' : `; ${spanText(left)} left.`}`
}

/** `capped` are a part of those that failed, `held` of those that were sent. */
type AllProgress = Progress & Pick<SnapshotCampaign, 'capped' | 'held' | 'delivered_total' | 'replied'>

/** The newer of two sets of figures, the answer's and the stream's: in a running campaign, the one with fewer queued. */
function latestProgress({ progress, state }: CampaignDescription, live: SnapshotCampaign | undefined): AllProgress {
  if (live === undefined || state !== 'running' || live.total !== progress.total) return progress
  return live.queued < progress.queued ? live : progress
}

const tile = (name: string, count: ComponentChildren, means: string) => ({
  name,
  value: words`${count}${<span class="reason quiet">{means}</span>}`,
})

/** How far the messages came, and who came to a halt, as figures and as a bar; folded, the state of every recipient with links and as a sum. */
function LedgerCard({ id, progress }: { id: string; progress: AllProgress }) {
  const { lines, terms, sum, addsUp } = ledgerOf(progress)
  const { capped, held: heldBack } = progress
  const linked = (count: number, state?: State) =>
    count === 0 || state === undefined ? (
      countText(count)
    ) : (
      <a href={searchAddress({ campaign: id, state })}>{countText(count)}</a>
    )
  return (
    <Card title="Results">
      <Figures
        of={[
          ...Object.entries(funnelOf(progress)).map(([name, { count, of, whole, ...step }]) =>
            tile(name, linked(count, 'state' in step ? step.state : undefined), `${shareText(count, of)} ${whole}`),
          ),
          ...besideFunnel(progress).map(({ name, count, state, means }) => tile(name, linked(count, state), means)),
        ]}
      />
      <svg class="ledger-bar" viewBox="0 0 1000 14" preserveAspectRatio="none" aria-hidden="true">
        {terms.map(({ state, count }, i) => {
          const before = terms.slice(0, i).reduce((counted, each) => counted + each.count, 0)
          const scale = 1_000 / Math.max(1, sum)
          return <rect key={state} class={toneOf(state)} x={before * scale} width={count * scale} height="14" />
        })}
      </svg>
      {capped > 0 && (
        <p>
          {words`Of the failed, ${<a href={searchAddress({ campaign: id, code: HAD_ENOUGH })}>{countText(capped)}</a>} because the
            person has had enough marketing for now, of all businesses together. That says nothing of your campaign.`}
        </p>
      )}
      {heldBack > 0 && (
        <p>
          Of the sent, {countText(heldBack)} held by WhatsApp, which looks how people like the template and then
          delivers or drops them.
        </p>
      )}
      <details open={!addsUp}>
        <summary>
          The state of every recipient{' '}
          <Badge tone={addsUp ? 'good' : 'bad'}>{addsUp ? 'adds up' : 'does not add up'}</Badge>
        </summary>
        <dl class="ledger">
          {lines.map(({ state, count }) => (
            <div key={state}>
              <dt>
                <MessageState state={state} />
              </dt>
              <dd>
                {linked(count, state)}
                <span class="quiet"> {shareText(count, progress.total)}</span>
              </dd>
            </div>
          ))}
        </dl>
        <p class="equation">
          {countText(progress.total)} {addsUp ? '=' : '≠'}{' '}
          {terms.map(({ state, count }) => `${countText(count)} ${state}`).join(' + ')}
        </p>
      </details>
    </Card>
  )
}

/** Sender, template, recipients and times; and the exports. */
function CampaignFacts({ campaign }: { campaign: CampaignDescription }) {
  const { id, template, state, scheduled_at, started_at } = campaign
  // A key that may not read contacts sees the ids of the lists.
  const tags = useLoad(may('readContacts') && 'tags' in campaign.recipients ? 'tags' : undefined, loadTags)
  const exportAt = (format: string): string => downloadAddress(`/campaigns/${id}/export`, { format })
  return (
    <Card title="Campaign">
      <Facts
        of={{
          Id: <code>{id}</code>,
          Sender: <Text text={campaign.sender ?? 'gone'} />,
          Template: words`${template.name} ${<span class="quiet">{template.language}</span>}`,
          Recipients: <Text text={recipientsText(campaign, tags.value ?? [])} />,
          Created: <When at={campaign.created_at} />,
          Scheduled:
            scheduled_at &&
            words`${<When at={scheduled_at} />}${state === 'scheduled' && words`, ${<Until at={scheduled_at} />}`}`,
          Started: started_at && <When at={started_at} />,
          Ended: campaign.ended_at && <When at={campaign.ended_at} />,
          'Tried again': campaign.retry_capped.times > 0 && (
            <>Up to {campaign.retry_capped.times} times those who have had enough marketing, a day later each time</>
          ),
          'Marketing route': ROUTES.find(([route]) => route === campaign.marketing_route)?.[1],
          'Sent no later than': campaign.valid_until && <When at={campaign.valid_until} />,
        }}
      />
      {started_at !== null && (
        <p>
          <a href={searchAddress({ campaign: id })}>Its messages</a> · Export, a line for each recipient:{' '}
          <a href={exportAt('csv')} download>
            CSV
          </a>
          ,{' '}
          <a href={exportAt('ndjson')} download>
            NDJSON
          </a>
        </p>
      )}
    </Card>
  )
}

function recipientsText({ recipients, progress }: CampaignDescription, tags: readonly Tag[]): string {
  const names = (ids: readonly number[]): string =>
    ids.map((id) => tags.find((tag) => tag.id === id)?.name ?? String(id)).join(', ')
  if ('rows' in recipients) return `rows of a file, number in the column “${recipients.rows.phone}”`
  if ('class' in recipients) return `those of ${recipients.campaign} that are ${recipients.class.replace('_', ' ')}`
  const except = recipients.except.length === 0 ? '' : `, leaving out everybody on ${names(recipients.except)}`
  const count = progress.total > 0 ? `${countText(progress.total)}: ` : ''
  return `${count}everybody on ${names(recipients.tags)}${except}`
}
