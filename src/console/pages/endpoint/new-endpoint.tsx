// Adding an endpoint. The secret that deliveries are signed with is shown once.
import { useState } from 'preact/hooks'
import type { EndpointDocument } from '../../../events/endpoint.ts'
import { Confirm } from '../../parts/dialog.tsx'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { dataOf, idempotencyKey } from '../../state/http.ts'
import { bodyOf, draftOf, EndpointFields } from './fields.tsx'

/** What the secret is for. */
export const SECRET_HINT =
  'Check the header webhook-signature of every delivery with it, by the Standard Webhooks rules.'

/** Asks for its settings, then shows the secret. */
export function NewEndpoint({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const [draft, setDraft] = useState(() => draftOf())
  const [secret, setSecret] = useState<string>()
  const [once] = useState(idempotencyKey)
  if (secret !== undefined) return <ShownOnce what="secret" secret={secret} hint={SECRET_HINT} onClose={onClose} />
  const act = async (): Promise<void> => {
    const made = await dataOf<EndpointDocument & { secret: string }>('POST', '/event-endpoints', {
      body: bodyOf(draft),
      headers: { 'Idempotency-Key': once },
    })
    setSecret(made.secret)
    onDone()
  }
  return (
    <Confirm title="Add an endpoint" verb="Add the endpoint" ready={draft.types.length > 0} act={act} onClose={onClose}>
      <EndpointFields draft={draft} onChange={setDraft} />
    </Confirm>
  )
}
