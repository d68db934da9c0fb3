// One endpoint: what it is told, what it answered lately, and what can be done with it.
import type { EndpointDocument } from '../../events/endpoint.ts'
import { endpointWords } from '../logic/endpoint-words.ts'
import { Badge } from '../parts/badge.tsx'
import { Age, Page, Shown } from '../parts/page.tsx'
import { Ago } from '../parts/text.tsx'
import { dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { EndpointActions } from './endpoint/actions.tsx'
import { Attempts } from './endpoint/attempts.tsx'
import { EndpointFacts } from './endpoint/facts.tsx'

const EVERY_MS = 3_000

/** The address of an endpoint over HTTP. */
export const endpointAddress = (id: string): string => `/event-endpoints/${encodeURIComponent(id)}`

/** Follows it while it is seen. */
export function EndpointPage({ id }: { id: string }) {
  const loaded = useLoad<EndpointDocument>(
    `endpoint ${id}`,
    (signal) => dataOf('GET', endpointAddress(id), { signal }),
    EVERY_MS,
  )
  const endpoint = loaded.value
  const words = endpoint && endpointWords(endpoint)
  return (
    <Page
      title={endpoint?.url ?? id}
      above={<a href="/console/endpoints">Event endpoints</a>}
      badge={words && <Badge tone={words.tone}>{words.word}</Badge>}
      actions={endpoint && <EndpointActions endpoint={endpoint} onChange={loaded.put} />}
    >
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {(found) => (
          <>
            <p class={words?.tone === 'good' ? 'quiet' : 'held'}>
              {words?.means}
              {found.failing_since !== null && (
                <>
                  {' '}
                  It began to fail <Ago at={found.failing_since} />.
                </>
              )}
            </p>
            <EndpointFacts endpoint={found} />
            <Attempts id={id} />
          </>
        )}
      </Shown>
    </Page>
  )
}
