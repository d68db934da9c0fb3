// What an endpoint is told, and how.
import type { EndpointDocument } from '../../../events/endpoint.ts'
import { counted } from '../../logic/numbers.ts'
import { Fact, Facts } from '../../parts/facts.tsx'
import { Ago, Said, When } from '../../parts/text.tsx'

/** Its settings as a list. */
export function EndpointFacts({ endpoint }: { endpoint: EndpointDocument }) {
  const { types, senders, include_content, batch, created_at, last_success_at, id } = endpoint
  return (
    <section class="card" aria-labelledby="told">
      <h2 id="told">What it is told</h2>
      <Facts>
        <Fact name="Types">{types.join(', ')}</Fact>
        <Fact name="Of senders">{senders.length === 0 ? 'all' : <Said text={senders.join(', ')} />}</Fact>
        <Fact name="Content">
          {include_content ? 'With numbers and texts.' : 'Ids and states only: no number, no text.'}
        </Fact>
        <Fact name="Batches">
          {batch.max_events === 1
            ? 'One event at a time.'
            : `Up to ${counted(batch.max_events, 'event')} at once, after ${batch.max_wait_ms} ms at the latest.`}
        </Fact>
        <Fact name="Last success">
          <Ago at={last_success_at} />
        </Fact>
        <Fact name="Created">
          <When at={created_at} />
        </Fact>
        <Fact name="Id">
          <code>{id}</code>
        </Fact>
      </Facts>
    </section>
  )
}
