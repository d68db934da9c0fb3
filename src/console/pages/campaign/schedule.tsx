// Starting a campaign at a time.
import { useState } from 'preact/hooks'
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import { instantOf, localOf } from '../../logic/message-filters.ts'
import { counted } from '../../logic/numbers.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { dataOf } from '../../state/http.ts'

/** Asks for the time, in the reader's zone. */
export function Schedule({
  campaign,
  onChange,
  onClose,
}: {
  campaign: CampaignDescription
  onChange: (changed: CampaignDescription) => void
  onClose: () => void
}) {
  const [local, setLocal] = useState(localOf(campaign.scheduled_at ?? new Date(Date.now() + 3_600_000).toISOString()))
  const at = instantOf(local)
  const act = async (): Promise<void> => {
    onChange(await dataOf<CampaignDescription>('POST', `/campaigns/${campaign.id}/schedule`, { body: { at } }))
    say('Scheduled.')
    onClose()
  }
  return (
    <Confirm title="Schedule" verb="Schedule" ready={at !== ''} act={act} onClose={onClose}>
      <TextField
        label="Start at"
        type="datetime-local"
        value={local}
        onValue={setLocal}
        required
        help={at === '' ? 'A date and a time in your zone.' : `In UTC: ${at.slice(0, 16).replace('T', ' ')}`}
      />
      <p>{counted(campaign.preflight?.recipients ?? 0, 'person', 'people')} will get it from then on.</p>
    </Confirm>
  )
}
