// What can be done with a campaign in its state. Each asks first, and says how many people it touches.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import { counted, countText } from '../../logic/numbers.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { dataOf } from '../../state/http.ts'
import { may } from '../../state/session.ts'
import { RunAgain } from './run-again.tsx'
import { Schedule } from './schedule.tsx'

type Campaign = CampaignDescription
type Deed = 'preflight' | 'start' | 'schedule' | 'pause' | 'resume' | 'cancel' | 'again'

const WORDS: Readonly<Record<Deed, string>> = {
  preflight: 'Check again',
  start: 'Start now',
  schedule: 'Schedule',
  pause: 'Pause',
  resume: 'Resume',
  cancel: 'Cancel',
  again: 'Run again',
}

const ALLOWED: Readonly<Record<Campaign['state'], readonly Deed[]>> = {
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

/** The buttons, and the dialog of the one that was pressed. */
export function CampaignActions({ campaign, onChange }: { campaign: Campaign; onChange: (changed: Campaign) => void }) {
  const [asked, setAsked] = useState<Deed>()
  if (!may('sendMany')) return null
  const close = (): void => setAsked(undefined)
  const props = { campaign, onChange, onClose: close }
  const started = campaign.started_at !== null
  return (
    <>
      {ALLOWED[campaign.state]
        .filter((deed) => deed !== 'again' || started)
        .map((deed) => (
          <button key={deed} type="button" class={deed === 'start' ? 'primary' : ''} onClick={() => setAsked(deed)}>
            {deed === 'preflight' && campaign.preflight === undefined ? 'Check' : WORDS[deed]}
          </button>
        ))}
      <a class="button" href={`/console/campaigns/new?from=${campaign.id}`}>
        Make a copy
      </a>
      {asked === 'schedule' && <Schedule {...props} />}
      {asked === 'again' && <RunAgain campaign={campaign} onClose={close} />}
      {asked === 'pause' && <Pause {...props} />}
      {(asked === 'preflight' || asked === 'start' || asked === 'resume' || asked === 'cancel') && (
        <Simple deed={asked} {...props} />
      )}
    </>
  )
}

interface Props {
  campaign: Campaign
  onChange: (changed: Campaign) => void
  onClose: () => void
}

function Simple({ deed, campaign, onChange, onClose }: Props & { deed: 'preflight' | 'start' | 'resume' | 'cancel' }) {
  const { progress, preflight } = campaign
  const act = async (): Promise<void> => {
    onChange(await dataOf<Campaign>('POST', `/campaigns/${campaign.id}/${deed}`, { body: {} }))
    say(
      {
        preflight: 'The recipients are being checked.',
        start: 'Started.',
        resume: 'It goes on.',
        cancel: 'Cancelled.',
      }[deed],
    )
    onClose()
  }
  const texts: Readonly<Record<typeof deed, ComponentChildren>> = {
    preflight: 'The recipients are counted, checked and frozen anew. Nothing is sent.',
    start: (
      <>
        <strong>{counted(preflight?.recipients ?? 0, 'person', 'people')}</strong> will get this message, from now on.
      </>
    ),
    resume: `${counted(progress.queued, 'message waits', 'messages wait')} and will be sent.`,
    cancel:
      campaign.started_at === null
        ? 'It is never sent. Nobody has got anything of it.'
        : `${countText(progress.queued)} that wait are never sent. What has left stays sent: ${countText(
            progress.total - progress.queued,
          )}.`,
  }
  return (
    <Confirm
      title={`${WORDS[deed]}: ${campaign.name ?? campaign.id}`}
      verb={deed === 'cancel' ? 'Cancel the campaign' : WORDS[deed]}
      danger={deed === 'cancel'}
      act={act}
      onClose={onClose}
    >
      <p>{texts[deed]}</p>
    </Confirm>
  )
}

function Pause({ campaign, onChange, onClose }: Props) {
  const [reason, setReason] = useState('')
  const act = async (): Promise<void> => {
    const body = reason.trim() === '' ? {} : { reason: reason.trim() }
    onChange(await dataOf<Campaign>('POST', `/campaigns/${campaign.id}/pause`, { body }))
    say('Paused.')
    onClose()
  }
  return (
    <Confirm title={`Pause: ${campaign.name ?? campaign.id}`} verb="Pause the campaign" act={act} onClose={onClose}>
      <p>
        {counted(campaign.progress.queued, 'message')} stay queued until somebody resumes it. What is in flight goes
        out.
      </p>
      <TextField label="Reason, for your colleagues" value={reason} onValue={setReason} />
    </Confirm>
  )
}
