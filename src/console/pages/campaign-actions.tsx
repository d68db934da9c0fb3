// The actions on a campaign. Each asks first and says how many people it affects.
import type { ComponentChildren } from 'preact'
import type { CampaignDescription as Campaign } from '../../campaigns/commands/campaign-document.ts'
import type { ResumeClass } from '../../campaigns/definition.ts'
import { counted, countText } from '../logic/numbers.ts'
import { nonEmpty } from '../parts/fields.tsx'
import { ask, thenNotify } from '../parts/form.tsx'
import { Button } from '../parts/press.tsx'
import { held, sentence, words } from '../parts/text.tsx'
import { call, dataOf } from '../state/http.ts'
import { go } from '../state/router.ts'
import { may } from '../state/session.ts'

type Simple = 'preflight' | 'start' | 'resume' | 'cancel'
type Action = Simple | 'schedule' | 'pause' | 'again'

const NAMES: Readonly<Record<Action, string>> = {
  preflight: 'Check again',
  start: 'Start now',
  schedule: 'Schedule',
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
  again: 'Run again',
}

const ALLOWED: Readonly<Record<Campaign['state'], readonly Action[]>> = {
  draft: ['preflight', 'cancel'],
  checking: ['cancel'],
  ready: ['start', 'schedule', 'preflight', 'cancel'],
  blocked: ['preflight', 'cancel'],
  scheduled: ['start', 'schedule', 'cancel'],
  running: ['pause', 'cancel'],
  paused: ['resume', 'cancel'],
  done: ['again'],
  cancelled: ['again'],
}

/** The buttons for the state of the campaign. */
export function CampaignActions({ campaign }: { campaign: Campaign }) {
  if (!may('bulkSend')) return null
  const started = campaign.started_at !== null
  return (
    <>
      {ALLOWED[campaign.state]
        .filter((action) => action !== 'again' || started)
        .map((action) => (
          <Button key={action} variant={action === 'start' ? 'primary' : ''} press={() => begin(action, campaign)}>
            {action === 'preflight' && campaign.preflight === undefined ? 'Check' : NAMES[action]}
          </Button>
        ))}
      <a class="button" href={`/console/campaigns/new?from=${campaign.id}`}>
        Make a copy
      </a>
    </>
  )
}

function begin(action: Action, campaign: Campaign): void {
  if (action === 'schedule') schedule(campaign)
  else if (action === 'pause') pause(campaign)
  else if (action === 'again') runAgain(campaign)
  else simply(action, campaign)
}

const titled = (action: Action, { name, id }: Campaign): string => `${NAMES[action]}: ${name ?? id}`
const peopleOf = ({ preflight }: Campaign): string => counted(preflight?.recipients ?? 0, 'person', 'people')
const order = (campaign: Campaign, action: Action, body: object = {}): Promise<unknown> =>
  call('POST', `/campaigns/${campaign.id}/${action}`, { body })

function meansOf(action: Simple, campaign: Campaign): ComponentChildren {
  const { queued, total } = campaign.progress
  if (action === 'preflight') return 'The recipients are counted, checked and frozen anew. Nothing is sent.'
  if (action === 'resume') return `${counted(queued, 'message waits', 'messages wait')} and will be sent.`
  if (action === 'start') return words`${<strong>{peopleOf(campaign)}</strong>} will get this message, from now on.`
  return campaign.started_at === null
    ? 'It is never sent. Nobody has got anything of it.'
    : `${countText(queued)} that wait are never sent. What has left stays sent: ${countText(total - queued)}.`
}

const SAID: Readonly<Record<Simple, string>> = {
  preflight: 'The recipients are being checked.',
  start: 'Started.',
  resume: 'Resumed.',
  cancel: 'Cancelled.',
}

const simply = (action: Simple, campaign: Campaign): void =>
  ask({
    title: titled(action, campaign),
    verb: action === 'cancel' ? 'Cancel the campaign' : NAMES[action],
    danger: action === 'cancel',
    text: <p>{meansOf(action, campaign)}</p>,
    act: () => thenNotify(order(campaign, action), SAID[action]),
  })

const pause = (campaign: Campaign): void =>
  ask({
    title: titled('pause', campaign),
    verb: 'Pause the campaign',
    text: sentence`${counted(campaign.progress.queued, 'message')} stay queued until somebody resumes it. What is in flight
      goes out.`,
    fields: { reason: { label: 'Reason, for your colleagues' } },
    act: (values) => thenNotify(order(campaign, 'pause', nonEmpty(values)), 'Paused.'),
  })

const HOUR_MS = 3_600_000

const schedule = (campaign: Campaign): void =>
  ask({
    title: 'Schedule',
    fields: {
      at: {
        kind: 'time',
        label: 'Start at',
        value: campaign.scheduled_at ?? new Date(Date.now() + HOUR_MS).toISOString(),
        required: true,
      },
    },
    note: ({ at }) => (
      <>
        <p class="help">
          {at === '' ? 'A date and a time in your zone.' : `In UTC: ${at.slice(0, 16).replace('T', ' ')}`}
        </p>
        <p>{peopleOf(campaign)} will get it from then on.</p>
      </>
    ),
    ready: ({ at }) => at !== '',
    act: (body) => thenNotify(order(campaign, 'schedule', body), 'Scheduled.'),
  })

/** Recipients by the outcome of their message. `twice`: they may have received it already. */
const CLASSES: readonly {
  name: ResumeClass
  words: string
  state: 'failed' | 'unknown' | 'sent' | 'expired' | 'cancelled'
  twice?: true
}[] = [
  { name: 'failed', words: 'failed', state: 'failed' },
  { name: 'unknown', words: 'unknown: nobody knows whether they got it', state: 'unknown', twice: true },
  { name: 'not_delivered', words: 'sent, and no delivery reported', state: 'sent', twice: true },
  { name: 'expired', words: 'expired', state: 'expired' },
  { name: 'cancelled', words: 'cancelled', state: 'cancelled' },
]

/** Makes a new campaign for the recipients with one outcome. */
function runAgain(campaign: Campaign): void {
  const some = CLASSES.filter(({ state }) => campaign.progress[state] > 0)
  const chosen = (wanted: string) => some.find(({ name }) => name === wanted)
  ask({
    title: titled('again', campaign),
    danger: true,
    verb: ({ class: wanted }) => {
      const found = chosen(wanted)
      return found ? `Send to ${counted(campaign.progress[found.state], 'person', 'people')}` : 'Send'
    },
    text: some.length === 0 && <p>Everybody has got it: there is nobody to send it to again.</p>,
    fields: {
      class: {
        label: 'To those whose message is',
        options: some.map(({ name, words }) => [name, words]),
        value: some[0]?.name ?? '',
        when: () => some.length > 0,
      },
    },
    note: ({ class: wanted }) => (
      <>
        {chosen(wanted)?.twice && held`Some of them may get it a second time.`}
        {sentence`It is a campaign of its own, with a ledger of its own. If this one was run again before, those of the same
          state get it once more.`}
      </>
    ),
    ready: ({ class: wanted }) => chosen(wanted) !== undefined,
    act: async (body, headers) => {
      const made = await dataOf<Campaign>('POST', `/campaigns/${campaign.id}/resume`, { body, headers })
      go(`/console/campaigns/${made.id}`)
      return 'A new campaign was made and started for them.'
    },
  })
}
