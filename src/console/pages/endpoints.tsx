// Event endpoints: the addresses that are told what happens, and whether they listen.
import { useState } from 'preact/hooks'
import type { EndpointDocument } from '../../events/endpoint.ts'
import { endpointWords } from '../logic/endpoint-words.ts'
import { Badge } from '../parts/badge.tsx'
import { Age, Empty, Page as Frame, Shown } from '../parts/page.tsx'
import { Table } from '../parts/table.tsx'
import { Ago, Said } from '../parts/text.tsx'
import { dataOf } from '../state/http.ts'
import { useLoad } from '../state/load.ts'
import { NewEndpoint } from './endpoint/new-endpoint.tsx'

const EVERY_MS = 5_000

/** The list, with what adds one. */
export function Endpoints() {
  const [adding, setAdding] = useState(false)
  const loaded = useLoad<EndpointDocument[]>(
    'endpoints',
    (signal) => dataOf('GET', '/event-endpoints', { signal }),
    EVERY_MS,
  )
  const add = (
    <button type="button" class="primary" onClick={() => setAdding(true)}>
      Add an endpoint
    </button>
  )
  return (
    <Frame title="Event endpoints" actions={add}>
      <p>Addresses of yours that are told what happens: deliveries, failures, what people write.</p>
      <Age loaded={loaded} />
      <Shown loaded={loaded}>
        {(all) =>
          all.length === 0 ? (
            <Empty title="Nobody is told what happens yet.">
              <p>
                Add the address of a program of yours. Each event is signed, tried again until it is taken, and kept for
                a week to be told once more.
              </p>
            </Empty>
          ) : (
            <EndpointTable all={all} />
          )
        }
      </Shown>
      {adding && <NewEndpoint onDone={loaded.reload} onClose={() => setAdding(false)} />}
    </Frame>
  )
}

const EndpointTable = ({ all }: { all: readonly EndpointDocument[] }) => (
  <Table
    cards
    caption="Event endpoints"
    rows={all}
    keyOf={({ id }) => id}
    columns={[
      {
        title: 'Endpoint',
        head: true,
        cell: ({ id, url }) => (
          <a href={`/console/endpoints/${id}`}>
            <Said class="address" text={url} />
          </a>
        ),
      },
      {
        title: 'State',
        cell: (endpoint) => {
          const { word, tone, means } = endpointWords(endpoint)
          return (
            <>
              <Badge tone={tone}>{word}</Badge>
              {tone !== 'good' && <span class="reason">{means}</span>}
            </>
          )
        },
      },
      { title: 'Last success', cell: ({ last_success_at }) => <Ago at={last_success_at} /> },
      { title: 'Types', number: true, wide: true, cell: ({ types }) => types.length },
      {
        title: 'Senders',
        wide: true,
        cell: ({ senders }) => (senders.length === 0 ? 'all' : <Said text={senders.join(', ')} />),
      },
    ]}
  />
)
