// Creating the campaign in three steps: the draft, its file, the check. What has been done stays done when a later step
// is refused: the next try goes on from there.
import { useRef, useState } from 'preact/hooks'
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import { Problem } from '../../parts/problem.tsx'
import { Gauge } from '../../parts/spark.tsx'
import { useAct, useOnce } from '../../state/act.ts'
import { dataOf } from '../../state/http.ts'
import { go } from '../../state/router.ts'
import { uploadFile } from '../../state/upload.ts'
import { type Draft, definitionOf, missingOf } from './draft.ts'

/** The button, what is missing still, the progress of the upload, and what was refused. */
export function CreateButton({ draft }: { draft: Draft }) {
  const [step, setStep] = useState('')
  const [share, setShare] = useState<number>()
  const made = useRef<{ body: string; id: string }>(undefined)
  const missing = missingOf(draft)

  const { headersFor } = useOnce()
  const { refusal, isBack, run } = useAct(async () => {
    try {
      setStep('Creating the draft …')
      const definition = definitionOf(draft)
      const body = JSON.stringify(definition)
      if (made.current?.body !== body) {
        const how = { body: definition, headers: headersFor(definition) }
        const { id } = await dataOf<CampaignDescription>('POST', '/campaigns', how)
        made.current = { body, id }
      }
      const { id } = made.current
      if (draft.source === 'file' && draft.file && draft.head) {
        setStep('Uploading the file …')
        const type = draft.head.format === 'csv' ? 'text/csv' : 'application/x-ndjson'
        await uploadFile(`/campaigns/${id}/rows`, draft.file, type, setShare, type === 'text/csv' ? draft.said : {})
      }
      setStep('Checking the recipients …')
      await dataOf('POST', `/campaigns/${id}/preflight`, { body: {} })
      go(`/console/campaigns/${id}`)
    } finally {
      setStep('')
      setShare(undefined)
    }
  })
  return (
    <section class="card" aria-labelledby="create">
      <h2 id="create">Create and check</h2>
      <p>The campaign becomes a draft and its recipients are checked. Nothing is sent before you start it.</p>
      {missing.length > 0 && (
        <ul class="quiet">
          {missing.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      )}
      <Problem refusal={refusal} isBack={isBack} />
      <button type="button" class="primary" disabled={missing.length > 0 || step !== ''} onClick={() => void run()}>
        Create and check
      </button>
      <p role="status">
        {step}
        {share !== undefined && (
          <>
            {' '}
            <Gauge label="Uploaded" value={share} most={1} /> {Math.floor(share * 100)} %
          </>
        )}
      </p>
    </section>
  )
}
