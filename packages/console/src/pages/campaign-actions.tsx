// The actions on a campaign. Each asks first and shows how many people it affects.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { CampaignDescription as Campaign, RunPlan } from '../../../../src/campaigns/commands/campaign-document.ts'
import type { ResumeClass } from '../../../../src/model/campaigns/definition.ts'
import type { State } from '../../../../src/model/messages/lifecycle.ts'
import { counted, countText } from '../logic/numbers.ts'
import { nonEmpty } from '../parts/fields.tsx'
import { ask, Confirm, openDialog, thenNotify } from '../parts/form.tsx'
import { WhenLoaded } from '../parts/page.tsx'
import { Button } from '../parts/press.tsx'
import { held, sentence, status, words } from '../parts/text.tsx'
import { useLoad } from '../state/hooks.ts'
import { call, dataOf } from '../state/http.ts'
import { go } from '../state/router.ts'
import { may } from '../state/session.ts'
import { Faults, LeftOut } from './preflight.tsx'

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
  else if (action === 'again') openDialog(<RunAgain campaign={campaign} />)
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

const NOTICES: Readonly<Record<Simple, string>> = {
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
    act: () => thenNotify(order(campaign, action), NOTICES[action]),
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
const CLASSES: readonly { name: ResumeClass; words: string; state: State; twice?: true }[] = [
  { name: 'failed', words: 'failed', state: 'failed' },
  { name: 'unknown', words: 'unknown: nobody knows whether they got it', state: 'unknown', twice: true },
  { name: 'not_delivered', words: 'sent, and no delivery reported', state: 'sent', twice: true },
  { name: 'expired', words: 'expired', state: 'expired' },
  { name: 'cancelled', words: 'cancelled', state: 'cancelled' },
]

/** Makes a new campaign for the recipients with one outcome; before that it shows whom this one would reach. */
function RunAgain({ campaign }: { campaign: Campaign }) {
  const some = CLASSES.filter(({ state }) => campaign.progress[state] > 0)
  const [chosen, choose] = useState<string | undefined>(some[0]?.name)
  const at = `/campaigns/${campaign.id}/resume`
  const loaded = useLoad<RunPlan>(chosen, (signal) =>
    dataOf('POST', at, { body: { class: chosen, dry_run: true }, signal }),
  )
  const people = loaded.value?.recipients ?? 0
  return (
    <Confirm
      title={titled('again', campaign)}
      danger
      verb={people > 0 ? `Send to ${counted(people, 'person', 'people')}` : 'Send'}
      text={some.length === 0 && <p>Everybody has got it: there is nobody to send it to again.</p>}
      fields={{
        class: {
          label: 'To those whose message is',
          options: some.map(({ name, words }) => [name, words]),
          value: some[0]?.name ?? '',
          when: () => some.length > 0,
        },
      }}
      onValues={(values) => choose(values.class)}
      note={
        chosen !== undefined && (
          <>
            <WhenLoaded loaded={loaded}>{(plan) => <Plan plan={plan} />}</WhenLoaded>
            {sentence`It is a campaign of its own and starts at once. If this one was run again before, those of the same
              state get it once more.`}
          </>
        )
      }
      ready={() => people > 0}
      act={async (body, headers) => {
        const made = await dataOf<Campaign>('POST', at, { body, headers })
        go(`/console/campaigns/${made.id}`)
        return 'A new campaign was made and started for them.'
      }}
    />
  )
}

const Plan = ({ plan }: { plan: RunPlan }) => (
  <>
    {status`${<strong>{countText(plan.recipients)}</strong>} of ${counted(plan.matched, 'person', 'people')} would get it.${
      plan.complete ? '' : ' There are so many that only the first were checked.'
    }`}
    <LeftOut {...plan} />
    <Faults faults={plan.problems} />
    {CLASSES.find(({ name }) => name === plan.class)?.twice && held`Some of them may get it a second time.`}
  </>
)
