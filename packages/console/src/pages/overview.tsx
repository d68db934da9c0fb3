// The overview. Problems come first, each with its reason.
import type { ComponentChildren } from 'preact'
import type { ListedMessage } from '../../../../src/messages/lookup/message-schema.ts'
import { parseCampaignId } from '../../../../src/model/campaigns/campaign-id.ts'
import { TEMPLATE_PAUSED } from '../../../../src/model/campaigns/lifecycle.ts'
import type { EndpointDocument } from '../../../../src/model/events/endpoint.ts'
import type { Series, Snapshot, SnapshotCampaign, SnapshotLane } from '../../../../src/telemetry/snapshot.ts'
import { hasTraffic, isInTrouble, laneSentence, laneWords, waitingOf } from '../logic/lane-words.ts'
import { ledgerOf, uncertainText } from '../logic/ledger.ts'
import { counted, countText, rateText, shareText, spanText } from '../logic/numbers.ts'
import { endpointWords, reasonText } from '../logic/words.ts'
import { History } from '../parts/chart.tsx'
import { DemoSwitch } from '../parts/demo.tsx'
import { Card, Figures, Live, Page } from '../parts/page.tsx'
import {
  Badge,
  CampaignLink,
  CampaignState,
  EndsIn,
  Gauge,
  held,
  LaneLink,
  Said,
  SearchLink,
  Text,
  When,
  words,
} from '../parts/text.tsx'
import { useData, useLoad } from '../state/hooks.ts'
import { actingFor, call, dataOf, type Page as Listed } from '../state/http.ts'
import { now } from '../state/live.ts'
import { may, session } from '../state/session.ts'
import { Failures, RedisState, Workers } from './machines.tsx'

/** The first page. */
export const Overview = () => (
  <Page title="Overview">
    <Live>
      {(figures) => (
        <>
          <Welcome figures={figures} />
          <DemoSwitch />
          <Totals totals={figures.totals} />
          <Trouble lanes={figures.lanes.filter(isInTrouble)} total={figures.lanes_total} />
          <FailingEndpoints />
          <Resting lanes={figures.lanes} campaigns={figures.campaigns} />
          <History />
          <div class="halves">
            <div class="stack">
              <CampaignsNow campaigns={figures.campaigns} lanes={figures.lanes} />
              <Workers
                workers={figures.workers}
                lost_workers={figures.lost_workers}
                node_problems={figures.node_problems}
              />
            </div>
            <div class="stack">
              <Failures failures={figures.failures} />
              <RedisState redis={figures.redis} />
            </div>
          </div>
        </>
      )}
    </Live>
  </Page>
)

const EVERY_MS = 5_000
const ENDPOINTS_EVERY_MS = 10_000

/** Whether the account has never sent anything; for an operator of all accounts, whether none has sent for a week. */
async function isNew(signal: AbortSignal): Promise<boolean> {
  if (may('viewMessages')) {
    const query = { limit: 1, direction: 'outbound' }
    const { data, next } = await call<Listed<ListedMessage>>('GET', '/messages', { query, signal })
    return data.length === 0 && next === null
  }
  const { points } = await dataOf<Series>('GET', '/console/history', { query: { span: 'week' }, signal })
  return points.every(({ accepted }) => accepted === 0)
}

/** Invites to send the first message, until one has been sent. */
function Welcome({ figures }: { figures: Snapshot }) {
  const mayInvite = may('viewMessages') ? may('send') : session.value?.operator === true
  const loaded = useLoad(mayInvite ? 'first message' : undefined, isNew, EVERY_MS)
  if (loaded.value !== true || hasTraffic(figures)) return null
  return (
    <Card title="Nothing has been sent yet" variant="welcome">
      <p>Send one message and watch it: accepted, claimed, sent, delivered, each with its evidence.</p>
      <a class="button primary" href="/console/start">
        Send the first message
      </a>
    </Card>
  )
}

/** Rates and backlog of all lanes together, with links to the messages. */
function Totals({ totals }: Pick<Snapshot, 'totals'>) {
  const perSecond = (value: ComponentChildren) => words`${value}${<span class="unit">/s</span>}`
  const rate = (name: string, value: number) => ({ name, value: perSecond(rateText(value)) })
  const state = (state: string, text: string) => <SearchLink filters={{ state }}>{text}</SearchLink>
  return (
    <Figures
      of={[
        rate('Accepted', totals.accepted_per_s),
        rate('Sent', totals.sent_per_s),
        rate('Delivered', totals.delivered_per_s),
        {
          name: 'Failed',
          value: perSecond(state('failed', rateText(totals.failed_per_s))),
          bad: totals.failed_per_s > 0,
        },
        { name: 'Waiting', value: state('queued', countText(totals.waiting)) },
        { name: 'Oldest waiting', value: totals.waiting === 0 ? 'none' : spanText(totals.oldest_waiting_s) },
        {
          name: 'Unconfirmed',
          value: state('unconfirmed', countText(totals.unconfirmed)),
          bad: totals.unconfirmed > 0,
        },
      ]}
    />
  )
}

/** More lanes and campaigns are on their own pages. */
const MOST = 8

/** Lanes that do not send and need attention, with the reasons. */
function Trouble({ lanes, total }: { lanes: readonly SnapshotLane[]; total: number }) {
  if (lanes.length === 0) {
    return (
      <Card title="Lanes">
        {total === 0 ? (
          <p>
            There is no sender yet, so nothing can be sent.{' '}
            {may('administer') && <a href="/console/senders">Add a sender</a>}
          </p>
        ) : (
          <p>
            <Badge tone="good">
              {total === 1 ? 'The lane is sending normally' : `All ${countText(total)} lanes are sending normally`}
            </Badge>{' '}
            <a href="/console/lanes">See the lanes</a>
          </p>
        )}
      </Card>
    )
  }
  return (
    <Card title={counted(lanes.length, 'lane that does not send', 'lanes that do not send')} variant="trouble">
      <ul class="plain">
        {lanes.slice(0, MOST).map((lane) => {
          const { word, tone } = laneWords(lane.state)
          return (
            <li key={lane.sender}>
              <Badge tone={tone}>{word}</Badge> <LaneLink {...lane} />: <Said text={laneSentence(lane, now.value)} />
              <EndsIn at={lane.until} />
              {waitingOf(lane) > 0 &&
                lane.drain_s === null &&
                ` ${counted(waitingOf(lane), 'message waits', 'messages wait')}.`}
            </li>
          )
        })}
      </ul>
      {lanes.length > MOST && (
        <p>
          <a href="/console/lanes">All {countText(lanes.length)}</a>
        </p>
      )}
    </Card>
  )
}

/** Event endpoints that do not accept what happens: of all accounts, for an operator who has chosen none. */
function FailingEndpoints() {
  const ofAll = session.value?.operator && actingFor.value === undefined
  const query = { failing: 'true', limit: 100 }
  const { value = [] } = useData<EndpointDocument[]>(
    ofAll || may('events') ? '/event-endpoints' : undefined,
    ENDPOINTS_EVERY_MS,
    query,
  )
  if (value.length === 0) return null
  return (
    <Card
      title={counted(
        value.length,
        'event endpoint that does not accept events',
        'event endpoints that do not accept events',
      )}
      variant="trouble"
    >
      <ul class="plain">
        {value.slice(0, MOST).map((endpoint) => {
          const { word, tone, means } = endpointWords(endpoint)
          const { id, account, url, failing_since: since } = endpoint
          return (
            <li key={id}>
              <Badge tone={tone}>{word}</Badge>{' '}
              <a href={`/console/endpoints/${id}${ofAll ? `?account=${account}` : ''}`}>
                <Text text={url} />
              </a>
              {ofAll && ` of account ${account}`}: {means} {since !== null && words`Since ${<When at={since} />}.`}
            </li>
          )
        })}
      </ul>
      {value.length > MOST && !ofAll && (
        <p>
          <a href="/console/endpoints">All {countText(value.length)}</a>
        </p>
      )}
    </Card>
  )
}

/** Campaigns that wait for a rule of WhatsApp: nobody need do anything, but should know. */
function Resting({ lanes, campaigns }: Pick<Snapshot, 'lanes' | 'campaigns'>) {
  const resting = lanes.filter(({ campaigns_wait }) => campaigns_wait !== null)
  const stopped = campaigns.filter(({ paused_for }) => paused_for?.startsWith(TEMPLATE_PAUSED))
  if (resting.length + stopped.length === 0) return null
  return (
    <Card title="Held by WhatsApp’s rules">
      <ul class="plain">
        {resting.slice(0, MOST).map((lane) => (
          <li key={lane.sender}>
            <Badge tone="wait">Campaigns rest</Badge> <LaneLink {...lane} />:{' '}
            <Said text={lane.campaigns_wait?.sentence ?? ''} />
            <EndsIn at={lane.campaigns_wait?.until ?? null} />
          </li>
        ))}
        {stopped.slice(0, MOST).map(({ id, name, paused_for }) => (
          <li key={id}>
            <Badge tone="bad">Template paused</Badge> <CampaignLink id={id}>{name || id}</CampaignLink>:{' '}
            <Text text={reasonText(paused_for ?? '')} />
          </li>
        ))}
      </ul>
    </Card>
  )
}

/** Current and recent campaigns: their progress, and what holds them back. */
const CampaignsNow = ({ campaigns, lanes }: Pick<Snapshot, 'campaigns' | 'lanes'>) => (
  <Card title="Campaigns">
    {campaigns.length === 0 && (
      <p>
        No campaign yet.{' '}
        {may('bulkSend') && <a href="/console/campaigns/new">Send one message to many people with a campaign</a>}
      </p>
    )}
    <ul class="plain rows">
      {campaigns.slice(0, MOST).map((campaign) => (
        <li key={campaign.id}>
          <div class="spread">
            <CampaignLink id={campaign.id}>{campaign.name || campaign.id}</CampaignLink>
            <CampaignState state={campaign.state} />
          </div>
          <div class="spread quiet">
            <Gauge label="Share of recipients that are done" value={ledgerOf(campaign).settled} most={campaign.total} />
            <span class="number">
              {shareText(ledgerOf(campaign).settled, campaign.total)}
              {campaign.state === 'running' && campaign.eta_s !== null && `, ${spanText(campaign.eta_s)} left`}
              {uncertain(campaign)}
            </span>
          </div>
          <Standstill campaign={campaign} lanes={lanes} />
        </li>
      ))}
    </ul>
  </Card>
)

/** `, 8 unconfirmed`, if there are any. */
const uncertain = (campaign: SnapshotCampaign): string => {
  const text = uncertainText(campaign)
  return text === undefined ? '' : `, ${text}`
}

/** Why a campaign does not send: its lane is in trouble, it was paused, or it is throttled. */
function Standstill({ campaign, lanes }: { campaign: SnapshotCampaign; lanes: readonly SnapshotLane[] }) {
  const lane = lanes.find(({ sender }) => sender === parseCampaignId(campaign.id)?.lane)
  const why =
    campaign.paused_for === null ? (campaign.waits?.sentence ?? campaign.throttle) : reasonText(campaign.paused_for)
  return (
    <>
      {campaign.state === 'running' && lane !== undefined && isInTrouble(lane) && (
        <p class="held">
          <a href={`/console/lanes/${lane.sender}`}>Lane {lane.sender}</a>: {laneWords(lane.state).word}.{' '}
          <Text text={lane.reason || laneWords(lane.state).means} />
        </p>
      )}
      {why !== null && held`${<Said text={why} />}`}
    </>
  )
}
