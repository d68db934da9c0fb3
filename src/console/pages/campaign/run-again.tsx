// A new campaign for those recipients whose message ended in one way.
import { useState } from 'preact/hooks'
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import type { ResumeClass } from '../../../campaigns/definition.ts'
import { counted } from '../../logic/numbers.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { Choice } from '../../parts/field.tsx'
import { say } from '../../parts/notices.tsx'
import { dataOf, idempotencyKey } from '../../state/http.ts'
import { go } from '../../state/router.ts'

const CLASSES: readonly {
  name: ResumeClass
  words: string
  state: 'failed' | 'unknown' | 'sent' | 'expired' | 'cancelled'
  twice: boolean
}[] = [
  { name: 'failed', words: 'failed', state: 'failed', twice: false },
  { name: 'unknown', words: 'unknown: nobody knows whether they got it', state: 'unknown', twice: true },
  { name: 'not_delivered', words: 'sent, and no delivery reported', state: 'sent', twice: true },
  { name: 'expired', words: 'expired', state: 'expired', twice: false },
  { name: 'cancelled', words: 'cancelled', state: 'cancelled', twice: false },
]

/** Asks for which recipients. */
export function RunAgain({ campaign, onClose }: { campaign: CampaignDescription; onClose: () => void }) {
  const some = CLASSES.filter(({ state }) => campaign.progress[state] > 0)
  const [name, setName] = useState(some[0]?.name ?? 'failed')
  const [key] = useState(idempotencyKey)
  const chosen = some.find((each) => each.name === name)
  const act = async (): Promise<void> => {
    const made = await dataOf<CampaignDescription>('POST', `/campaigns/${campaign.id}/resume`, {
      body: { class: name },
      headers: { 'Idempotency-Key': key },
    })
    say('A new campaign was made and started for them.')
    onClose()
    go(`/console/campaigns/${made.id}`)
  }
  return (
    <Confirm
      title={`Run again: ${campaign.name ?? campaign.id}`}
      verb={chosen ? `Send to ${counted(campaign.progress[chosen.state], 'person', 'people')}` : 'Send'}
      danger
      ready={chosen !== undefined}
      act={act}
      onClose={onClose}
    >
      {some.length === 0 ? (
        <p>Everybody has got it: there is nobody to send it to again.</p>
      ) : (
        <Choice
          label="To those whose message is"
          value={name}
          onValue={(value) => setName(CLASSES.find((each) => each.name === value)?.name ?? 'failed')}
          options={some.map((each) => [each.name, each.words] as const)}
        />
      )}
      {chosen?.twice && <p class="held">! Some of them may get it a second time.</p>}
      <p>
        It is a campaign of its own, with a ledger of its own. If this one was run again before, those of the same state
        get it once more.
      </p>
    </Confirm>
  )
}
