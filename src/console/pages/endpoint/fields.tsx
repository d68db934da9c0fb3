// The settings of an endpoint as fields, for a new one and for a change.
import type { EndpointDocument } from '../../../events/endpoint.ts'
import { DEFAULT_TYPES, EVENT_TYPES, type EventType } from '../../../events/event-names.ts'
import { Check, TextField } from '../../parts/field.tsx'

/** What the fields hold. */
export interface EndpointDraft {
  url: string
  types: readonly EventType[]
  senders: string
  content: boolean
  most: string
  wait: string
}

/** Of an endpoint that there is, or of a new one. */
export const draftOf = (endpoint?: EndpointDocument): EndpointDraft => ({
  url: endpoint?.url ?? '',
  types: endpoint?.types ?? DEFAULT_TYPES,
  senders: endpoint?.senders.join(', ') ?? '',
  content: endpoint?.include_content ?? false,
  most: String(endpoint?.batch.max_events ?? 1),
  wait: String(endpoint?.batch.max_wait_ms ?? 1_000),
})

/** The body of a request that makes it so. */
export const bodyOf = ({ url, types, senders, content, most, wait }: EndpointDraft) => ({
  url: url.trim(),
  types,
  senders: senders
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== ''),
  include_content: content,
  batch: { max_events: Number(most), max_wait_ms: Number(wait) },
})

/** Fields for everything that can be said of one; what is typed is checked by the server. */
export function EndpointFields({
  draft,
  onChange,
}: {
  draft: EndpointDraft
  onChange: (draft: EndpointDraft) => void
}) {
  const set = (part: Partial<EndpointDraft>): void => onChange({ ...draft, ...part })
  const flip = (type: EventType): void =>
    set({ types: EVENT_TYPES.filter((each) => (each === type) !== draft.types.includes(each)) })
  return (
    <>
      <TextField
        label="Address"
        type="url"
        value={draft.url}
        onValue={(url) => set({ url })}
        required
        placeholder="https://shop.example/hooks/laneway"
      />
      <fieldset>
        <legend>It is told</legend>
        <div class="checks two">
          {EVENT_TYPES.map((type) => (
            <Check key={type} checked={draft.types.includes(type)} onFlip={() => flip(type)}>
              {type}
            </Check>
          ))}
        </div>
      </fieldset>
      <Check checked={draft.content} onFlip={() => set({ content: !draft.content })}>
        With numbers and texts, not only ids and states
      </Check>
      <TextField
        label="Only of these senders"
        value={draft.senders}
        onValue={(senders) => set({ senders })}
        help="Numbers, names or ids, separated by commas. Empty: all."
      />
      <div class="pair">
        <TextField
          label="Events at once, at most"
          type="number"
          min="1"
          max="100"
          value={draft.most}
          onValue={(most) => set({ most })}
          required
        />
        <TextField
          label="Wait for more (ms)"
          type="number"
          min="0"
          max="60000"
          value={draft.wait}
          onValue={(wait) => set({ wait })}
          required
        />
      </div>
    </>
  )
}
