// Pausing and resuming a lane, and ending its cooldown.
import { useState } from 'preact/hooks'
import type { SnapshotLane } from '../../../telemetry/snapshot.ts'
import { waitingOf } from '../../logic/lane-words.ts'
import { counted } from '../../logic/numbers.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { Said } from '../../parts/text.tsx'
import { actingHeadersFor, call } from '../../state/http.ts'

const nameOf = ({ sender, name }: SnapshotLane): string => (name === '' ? `lane ${sender}` : `lane ${sender}, ${name}`)

/** The one of pause, resume and end of cooldown that fits the lane's state. */
export function PauseButton({ lane }: { lane: SnapshotLane }) {
  const [asked, setAsked] = useState(false)
  const held = lane.state === 'paused' || lane.state === 'cooldown'
  const word = lane.state === 'paused' ? 'Resume' : lane.state === 'cooldown' ? 'End cooldown' : 'Pause'
  return (
    <>
      <button type="button" onClick={() => setAsked(true)} aria-label={`${word} ${nameOf(lane)}`}>
        {word}
      </button>
      {asked && held && <Resume lane={lane} verb={word} onClose={() => setAsked(false)} />}
      {asked && !held && <Pause lane={lane} onClose={() => setAsked(false)} />}
    </>
  )
}

function Pause({ lane, onClose }: { lane: SnapshotLane; onClose: () => void }) {
  const [reason, setReason] = useState('')
  const act = async (): Promise<void> => {
    const body = reason.trim() === '' ? {} : { reason: reason.trim() }
    await call('POST', `/admin/lanes/${lane.sender}/pause`, { body, headers: actingHeadersFor(lane.account) })
    say(`Lane ${lane.sender} is paused.`)
    onClose()
  }
  return (
    <Confirm title={`Pause ${nameOf(lane)}`} verb="Pause the lane" danger act={act} onClose={onClose}>
      <p>
        Nothing more leaves <Said text={nameOf(lane)} /> but what is in flight ({lane.in_flight}).{' '}
        {counted(waitingOf(lane), 'message waits there and stays', 'messages wait there and stay')}; those that come are
        accepted and wait as well.
      </p>
      <TextField label="Reason, for your colleagues" value={reason} onValue={setReason} />
    </Confirm>
  )
}

function Resume({ lane, verb, onClose }: { lane: SnapshotLane; verb: string; onClose: () => void }) {
  const act = async (): Promise<void> => {
    await call('POST', `/admin/lanes/${lane.sender}/resume`, { body: {}, headers: actingHeadersFor(lane.account) })
    say(`Lane ${lane.sender} is resumed; ${counted(waitingOf(lane), 'message waits', 'messages wait')}.`)
    onClose()
  }
  return (
    <Confirm title={`${verb}: ${nameOf(lane)}`} verb={verb} act={act} onClose={onClose}>
      <p>
        {counted(waitingOf(lane), 'message waits', 'messages wait')} and will leave at up to {lane.rate_per_s} per
        second.
      </p>
      {lane.reason !== null && (
        <p>
          It stands still because: <Said text={lane.reason} />
        </p>
      )}
      {lane.state === 'cooldown' && <p>If what began the cooldown still holds, the provider will refuse again.</p>}
    </Confirm>
  )
}
