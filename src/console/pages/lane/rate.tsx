// How many messages a second may leave a lane.
import { useState } from 'preact/hooks'
import type { SnapshotLane } from '../../../telemetry/snapshot.ts'
import { waitingOf } from '../../logic/lane-words.ts'
import { counted, rateText } from '../../logic/numbers.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { actingHeadersFor, call } from '../../state/http.ts'

/** A button that asks for the new rate. */
export function RateButton({ lane }: { lane: SnapshotLane }) {
  const [asked, setAsked] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setAsked(true)}>
        Change rate
      </button>
      {asked && <ChangeRate lane={lane} onClose={() => setAsked(false)} />}
    </>
  )
}

function ChangeRate({ lane, onClose }: { lane: SnapshotLane; onClose: () => void }) {
  const [rate, setRate] = useState(String(lane.rate_per_s))
  const act = async (): Promise<void> => {
    const headers = actingHeadersFor(lane.account)
    await call('POST', `/admin/lanes/${lane.sender}/rate`, { body: { rate: Number(rate) }, headers })
    say(`Lane ${lane.sender} may send ${rateText(Number(rate))} per second.`)
    onClose()
  }
  return (
    <Confirm title={`Rate of lane ${lane.sender}`} verb="Change the rate" act={act} onClose={onClose}>
      <p>
        Now {rateText(lane.rate_per_s)} per second; {counted(waitingOf(lane), 'message waits', 'messages wait')}.
      </p>
      <TextField
        label="Messages per second"
        type="number"
        step="any"
        value={rate}
        onValue={setRate}
        required
        help="In force for every worker at once. More than the provider grants to the number leads to cooldowns."
      />
    </Confirm>
  )
}
